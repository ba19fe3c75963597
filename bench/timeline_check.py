#!/usr/bin/env python3
"""Whether the timeline of requests adds up: sends mixed requests to a server, several at once, and compares the parts of
each one's trace with its wall time.

  bench/timeline_check.py http://127.0.0.1:8080 [-m MODEL] [--requests 500] [--at-once 8] [--seed 1] [--json]

Chat, text and embeddings, streamed and not, short and long prompts, several choices, stop strings, and clients that
leave early. Ends with 1 when a request's time lies outside of its parts by more than the limit (2 %)."""
import argparse
import collections
import http.client
import json
import random
import sys
import threading
import time
import urllib.parse

LIMIT = 0.02
WORDS = "the cache holds keys and values of every token that a prompt had so that no layer computes them again".split()


def make_request(rng, model):
    """(kind, path, body, number of reads after which the client leaves or None)."""
    length = rng.choice([3, 12, 40, 200, 600])
    text = " ".join(rng.choice(WORDS) for _ in range(length))
    kind = rng.choice(["chat", "chat", "text", "text", "embeddings"])
    if kind == "embeddings":
        inputs = [text[: rng.randint(10, len(text))] for _ in range(rng.choice([1, 1, 5]))]
        return kind, "/v1/embeddings", {"model": model, "input": inputs}, None
    body = {"model": model, "max_tokens": rng.choice([1, 2, 8, 24, 64]), "seed": rng.randint(1, 1000)}
    if kind == "chat":
        body["messages"] = [{"role": "user", "content": text}]
    else:
        body["prompt"] = text
    if rng.random() < 0.3:
        body["n"] = rng.randint(2, 4)
        kind += " n>1"
    if rng.random() < 0.3:
        body["stop"] = rng.choice([[" the"], ["e"], [".", "\n"]])
        kind += " stop"
    if rng.random() < 0.2:
        body["logprobs"] = True if kind.startswith("chat") else 2
    leaves = None
    if rng.random() < 0.5:
        body["stream"] = True
        kind += " stream"
        if rng.random() < 0.2:
            leaves = rng.choice([0, 1, 3])
            body["max_tokens"] = 200
            kind += " leaves"
    return kind, "/v1/chat/completions" if "messages" in body else "/v1/completions", body, leaves


class Client:
    def __init__(self, url, key):
        self.address = urllib.parse.urlsplit(url)
        self.headers = {"Content-Type": "application/json"}
        if key:
            self.headers["Authorization"] = "Bearer " + key

    def connect(self):
        return http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=600)

    def get(self, path):
        connection = self.connect()
        connection.request("GET", path, headers=self.headers)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, body

    def post(self, path, body, leaves):
        """(x-request-id, seconds, what the answer says of its timings or None)."""
        connection = self.connect()
        began = time.perf_counter()
        connection.request("POST", path, json.dumps(body), self.headers)
        response = connection.getresponse()
        request_id = response.headers["x-request-id"]
        if leaves is not None:
            for _ in range(leaves):
                response.readline()
            connection.sock.close()
            connection.close()
            return request_id, None, None
        data = response.read()
        seconds = time.perf_counter() - began
        connection.close()
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status}: {data[:200]}")
        return request_id, seconds, timings_of(data.decode(), body.get("stream"))


def timings_of(text, is_stream):
    if not is_stream:
        return json.loads(text).get("timings")
    timings = None
    for line in text.splitlines():
        if line.startswith("data: {"):
            timings = json.loads(line[6:]).get("timings") or timings
    return timings


def error_of(report):
    """The share of the wall time that the parts miss or have too much."""
    return abs(report["wall_s"] - sum(report["parts"].values())) / report["wall_s"]


def largest_gap(trace):
    """(seconds, the spans around it) of the longest time that lies in no span."""
    spans = sorted((span["start_s"], span["end_s"], span["name"]) for span in trace["spans"] if span["parent"] is None)
    covered, before, largest = 0.0, "the beginning", (0.0, "")
    for start, end, name in spans + [(trace["wall_s"], trace["wall_s"], "the end")]:
        largest = max(largest, (start - covered, f"{before} .. {name}"))
        if end > covered:
            covered, before = end, name
    return largest


def fetch_trace(client, request_id):
    """Whoever left may have to wait until the server has noticed."""
    for _ in range(200):
        status, body = client.get(f"/v1/requests/{request_id}/trace")
        if status == 200:
            return json.loads(body)
        time.sleep(0.05)
    raise RuntimeError(f"{request_id}: no trace")


def check_one(client, rng, model):
    kind, path, body, leaves = make_request(rng, model)
    request_id, seconds, timings = client.post(path, body, leaves)
    trace = fetch_trace(client, request_id)
    result = {"kind": kind, "id": request_id, "wall_s": trace["wall_s"], "error": error_of(trace),
              "parts": trace["parts"], "client_s": seconds, "gap": largest_gap(trace)}
    if timings:
        result["answer_error"] = error_of(timings)
    return result


def run(url, model, num_requests, at_once, seed=1, key=""):
    """A result for each request, in the order of their ends."""
    client = Client(url, key)
    results, failures = [], []
    numbers = iter(range(num_requests))
    lock = threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None or failures:
                return
            try:
                result = check_one(client, random.Random(seed * 100_003 + number), model)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
                return
            with lock:
                results.append(result)

    threads = [threading.Thread(target=work) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def summarise(results):
    errors = [result["error"] for result in results]
    answers = [result["answer_error"] for result in results if "answer_error" in result]
    unseen = [result["client_s"] - result["wall_s"] for result in results if result["client_s"]]
    parts = collections.Counter()
    for result in results:
        parts.update(result["parts"])
    total = sum(result["wall_s"] for result in results)
    return {"requests": len(results), "kinds": len({result["kind"] for result in results}),
            "trace_error_p50": percentile(errors, 0.5), "trace_error_p99": percentile(errors, 0.99),
            "trace_error_max": max(errors), "answer_error_p99": percentile(answers, 0.99),
            "answer_error_max": max(answers), "above_limit": sum(error > LIMIT for error in errors + answers),
            "client_minus_wall_ms_p50": 1e3 * percentile(unseen, 0.5),
            "client_minus_wall_ms_p99": 1e3 * percentile(unseen, 0.99),
            "shares": {stage: seconds / total for stage, seconds in parts.most_common()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("url")
    parser.add_argument("-m", "--model", default="")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--key", default="")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = run(args.url, args.model, args.requests, args.at_once, args.seed, args.key)
    summary = summarise(results)
    if args.json:
        print(json.dumps(summary))
    else:
        for name, value in summary.items():
            print(f"{name:26} {value}")
        for result in sorted(results, key=lambda one: -one["error"])[:5]:
            print(f"{result['error']:.4%} of {result['wall_s'] * 1e3:.2f} ms: {result['kind']} {result['id']}; "
                  f"longest gap {result['gap'][0] * 1e6:.0f} us, {result['gap'][1]}")
    return 1 if summary["above_limit"] else 0


if __name__ == "__main__":
    sys.exit(main())
