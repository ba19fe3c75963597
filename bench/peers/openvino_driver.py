"""One figure of OpenVINO GenAI, in an environment that has it: openvino_driver.py REQUEST, a JSON object.

Prints {"figure": ...}: tokens per second, or the seconds that opening the model takes. Each run is preceded by one that
is not counted and has other tokens, so that nothing of its prompt is found again.
"""
import json
import os
import pathlib
import sys
import time

import numpy
import openvino
import openvino_genai

VOCAB_SIZE = 32000  # ids below that exist in every model


def tokens(count, first):
    ids = ((numpy.arange(first, first + count, dtype=numpy.int64) * 2654435761 + 12345) % VOCAB_SIZE)[None, :]
    return openvino_genai.TokenizedInputs(openvino.Tensor(ids.copy()), openvino.Tensor(numpy.ones_like(ids)))


def open_model(path, request, **properties):
    return openvino_genai.LLMPipeline(str(path), "CPU", INFERENCE_NUM_THREADS=request["threads"],
                                      ATTENTION_BACKEND=request["attention"], **properties)


def generate(pipeline, prompt, count):
    config = openvino_genai.GenerationConfig(max_new_tokens=count, min_new_tokens=count, ignore_eos=True, do_sample=False)
    return pipeline.generate(prompt, config).perf_metrics


def rate(pipeline, request, first):
    """Tokens per second of the prompt, or of the tokens behind the first generated one."""
    if request["phase"] == "prefill":
        metrics = generate(pipeline, tokens(request["tokens"], first), 1)
        return 1000.0 * request["tokens"] / metrics.get_ttft().mean
    metrics = generate(pipeline, tokens(max(request["depth"], 1), first), request["tokens"] + 1)
    return 1000.0 / metrics.get_tpot().mean


def load_seconds(path, request, **properties):
    start = time.monotonic()
    open_model(path, request, **properties)
    return time.monotonic() - start


def load_again_seconds(request):
    """From what an earlier start kept: its own form of the model, and the compiled one."""
    folder = pathlib.Path(request["kept"])
    if not (folder / "cache").exists():
        folder.mkdir(parents=True, exist_ok=True)
        link = folder / "model.gguf"
        if not link.is_symlink():
            link.symlink_to(os.path.abspath(request["model"]))
        # It is written beside the file that it comes from.
        open_model(link, request, enable_save_ov_model=True)
        open_model(folder, request, CACHE_DIR=str(folder / "cache"))
    return load_seconds(folder, request, CACHE_DIR=str(folder / "cache"))


def main():
    request = json.loads(sys.argv[1])
    if request["phase"] == "load":
        figure = load_seconds(request["model"], request)
    elif request["phase"] == "load again":
        figure = load_again_seconds(request)
    else:
        pipeline = open_model(request["model"], request)
        rate(pipeline, request, first=100_000)
        figure = rate(pipeline, request, first=0)
    print(json.dumps({"figure": figure}))


if __name__ == "__main__":
    main()
