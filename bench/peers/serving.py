"""A server started for a run, and the load on it: the same generator for all."""
import contextlib
import json
import os
import re
import signal
import subprocess
import threading

from cases import CONCURRENCIES
from common import Refused, VITRINE, output_of

PROMPT_WORDS = 200
START_SECONDS = 120
STOP_SECONDS = 35


@contextlib.contextmanager
def running(command, ready, variables=None):
    """The first group of `ready` in what the program writes, which is its address; the program ends with the block."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               errors="replace", env={**os.environ, **(variables or {})})
    overdue = threading.Timer(START_SECONDS, process.kill)
    overdue.start()
    try:
        address = read_address(process, ready)
        overdue.cancel()
        if address is None:
            raise Refused(f"{' '.join(words)}: did not start")
        # A program that nobody reads stops at a full pipe.
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield address
    finally:
        overdue.cancel()
        stop(process)


def read_address(process, ready):
    for line in process.stderr:
        found = ready.search(line)
        if found:
            return found[1]
    return None


def stop(process):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def put_load(url, model, max_tokens):
    """Figures by the names of cases.serve_metrics()."""
    answer = output_of([VITRINE, "bench", "serve", re.sub(r"/*$", "/v1", url), "--model", model, "--ignore-eos",
                        "--prompt-tokens", PROMPT_WORDS, "-n", max_tokens, "--concurrency",
                        ",".join(str(count) for count in CONCURRENCIES), "--json", "--quiet"])
    figures = {}
    for result in json.loads(answer)["results"]:
        if result["errors"]:
            raise Refused(f"{url}: {result['errors']} of {result['requests']} requests failed")
        name = f"{result['concurrency']} at once"
        figures[name] = result["output_tokens_per_s"]
        figures[f"{name}, TTFT p50"] = result["ttft_s"]["p50"]
        figures[f"{name}, ITL p99"] = result["itl_s"]["p99"]
    return figures
