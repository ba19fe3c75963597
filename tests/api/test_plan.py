"""What `vitrine plan` says a server will take, beside what the kernel says it takes."""
import json
import os
import pathlib
import subprocess
import urllib.request

import pytest
from conftest import ServerProcess

MOST_ERROR = 0.03
# (context, batch, KV type): all of them for the real model, every other one for the rest.
CASES = [(context, batch, kv_type) for context in (128, 320) for batch in (1, 3) for kv_type in ("f16", "q8_0")]
# Shapes that keep a file and its run small, and yet are far above what the program itself takes: wide layers, but few.
SYNTHETIC = {"llama-3.2-1b": ("q4_k_m", 2), "smollm2-1.7b": ("q8_0", 2), "qwen3-0.6b": ("f16", 3)}


def run_vitrine(*words):
    return subprocess.check_output([os.environ["VITRINE_BINARY"], *map(str, words)], text=True)


def resident_bytes(process):
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024


def vocabulary_size(path):
    return next(t["shape"][0] for t in json.loads(run_vitrine("show", path, "--json"))["tensors"]
                if t["name"] == "token_embd.weight")


def prompts(vocab_size, length, batch):
    """Sequences of ids that fill the context but for the answer. They lead all over the vocabulary, and no two begin alike."""
    count = length * batch
    return [[(place * batch + which) * vocab_size // count for place in range(length)] for which in range(batch)]


def complete(url, batch_of_prompts):
    body = {"model": "planned", "prompt": batch_of_prompts, "max_tokens": 2, "temperature": 0, "ignore_eos": True}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Paths by name: the real model, Gemma where it is on disk, and some of random weights."""
    folder = tmp_path_factory.mktemp("synthetic")
    paths = {"smollm2": os.environ["VITRINE_TEST_MODEL"]}
    for stored in json.loads(run_vitrine("list", "--json"))["models"]:
        if stored["name"] == "gemma-3-270m":
            paths["gemma-3-270m"] = stored["path"]
    for shape, (kind, layers) in SYNTHETIC.items():
        paths[shape] = folder / f"{shape}.gguf"
        run_vitrine("synth", "--shape", shape, "--type", kind, "--layers", layers, "-o", paths[shape], "--quiet")
    return paths


def measure(path, context, batch, kv_type, state):
    """(bytes that were forecast, bytes that are resident once every sequence was full)"""
    # The largest step is that of one prompt: whether several prompts come together in one is a matter of microseconds.
    sizes = ["--kv-type", kv_type, "--chunk", context]
    row, = json.loads(run_vitrine("plan", path, "--context", context, "--batch", batch, *sizes, "--no-measure", "--json"))["rows"]
    flags = ["--ctx", context, "--max-sequences", batch, *sizes]
    server = ServerProcess(state, *map(str, flags), models=[f"planned={path}"])
    try:
        answer = complete(server.url, prompts(vocabulary_size(path), context - 2, batch))
        assert answer["usage"]["prompt_tokens"] == (context - 2) * batch
        return row["total_bytes"], resident_bytes(server.process)
    finally:
        server.stop()


@pytest.mark.parametrize("name", ["smollm2", "gemma-3-270m", *SYNTHETIC])
def test_the_forecast_is_within_three_percent(models, name, tmp_path):
    if name not in models:
        pytest.skip(f"{name} is not on disk")
    wrong = []
    for context, batch, kv_type in CASES if name == "smollm2" else [CASES[i] for i in (0, 3, 5, 6)]:
        forecast, resident = measure(models[name], context, batch, kv_type, tmp_path)
        error = forecast / resident - 1
        print(f"{name} {context} x {batch} {kv_type}: forecast {forecast / 1e6:.1f} MB, resident {resident / 1e6:.1f} MB, {error:+.2%}")
        if abs(error) > MOST_ERROR:
            wrong.append((context, batch, kv_type, forecast, resident))
    assert not wrong
