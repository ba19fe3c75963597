"""OpenVINO GenAI on the same GGUF file."""
import json
import pathlib

from common import Refused, output_of
from python_packages import version_of

DRIVER = pathlib.Path(__file__).parent / "openvino_driver.py"


class OpenVinoGenAi:
    name = "OpenVINO GenAI"
    version = version_of("openvino-genai")

    def __init__(self, python, folder):
        self.python = python
        self.folder = folder  # for what it keeps between starts

    def supports(self, case):
        if case.phase in ("prefill", "decode"):
            return case.batch == 1 and case.kv_type == "f16"
        return case.phase.startswith("load")

    def variants(self, case, max_threads):
        if case.phase.startswith("load"):
            return [{"threads": max_threads, "attention": "PA"}]
        return [{"threads": threads, "attention": backend}
                for threads in range(1, max_threads + 1) for backend in ("PA", "SDPA")]

    def measure(self, case, model, flags):
        request = {"model": str(model), "phase": case.phase, "tokens": case.tokens, "depth": case.depth, **flags,
                   "kept": str(self.folder / pathlib.Path(model).stem)}
        try:
            answer = output_of([self.python, DRIVER, json.dumps(request)])
        except Refused as refusal:
            raise Refused(f"{pathlib.Path(model).name}: {last_line(str(refusal))}") from refusal
        return {"": json.loads(answer.splitlines()[-1])["figure"]}


def last_line(text):
    return text.strip().splitlines()[-1]
