"""Figures of this checkout's binary."""
import contextlib
import json
import re
import tempfile

from common import VITRINE, output_of, seconds_of
from serving import put_load, running

# What `start to first token` completes: 20 tokens.
PROMPT = "Once upon a time, in a small house at the edge of a wide forest, there lived an old clockmaker who"


class VitrineEngine:
    name = "Vitrine"

    def supports(self, _case):
        return True

    def variants(self, _case, max_threads):
        return [{"threads": max_threads}]

    def measure(self, case, model, flags):
        if case.phase == "serve":
            with self.serve(model, flags) as (url, name):
                return put_load(url, name, case.tokens)
        return {"": self.figure(case, model, flags)}

    def figure(self, case, model, flags):
        completion = [VITRINE, "run", model, PROMPT, "-n", "1", "--threads", flags["threads"]]
        if case.phase == "start":
            return seconds_of([*completion, "--quiet"])
        if case.phase.startswith("load"):
            packed = ["--no-repack-cache"] if case.phase == "load" else []
            return json.loads(output_of([*completion, *packed, "--json"]))["timings"]["load_s"]
        prompt, generated = (case.tokens, 0) if case.phase == "prefill" else (0, case.tokens)
        answer = output_of([VITRINE, "bench", "model", model, "-p", prompt, "-n", generated, "--depth", case.depth, "--batch",
                            case.batch, "--threads", flags["threads"], "--kv-type", case.kv_type, "-r", 1, "--json"])
        return json.loads(answer)["results"][0]["tokens_per_s"]

    @contextlib.contextmanager
    def serve(self, model, flags):
        with tempfile.TemporaryDirectory() as state:
            command = [VITRINE, "serve", f"peer={model}", "--port", 0, "--threads", flags["threads"], "--log-format", "off"]
            with running(command, re.compile(r"Serving .+ at (http://\S+)"), {"VITRINE_STATE": state}) as url:
                yield url, "peer"
