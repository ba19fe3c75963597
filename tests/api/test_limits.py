"""What the official clients make of a key's limits: their own exceptions, and their own retries after Retry-After."""
import json
import os
import pathlib
import subprocess
import threading
import time

import openai
import pytest

from conftest import run_keys

QUESTION = {"model": "smollm2", "messages": [{"role": "user", "content": "What is the capital of France?"}]}


@pytest.fixture
def client_with(closed_server, state):
    """A client whose key has these limits, as `vitrine keys create` takes them."""
    def make(*flags, max_retries=0):
        key = run_keys(state, "create", "laptop", *flags)["key"]
        return openai.OpenAI(base_url=closed_server.url + "/v1", api_key=key, max_retries=max_retries)
    return make


def hold_one(client, seconds):
    """Keeps an answer under way for so long; returns when it has begun."""
    stream = client.chat.completions.create(**QUESTION, stream=True, max_tokens=4000, extra_body={"ignore_eos": True})
    next(stream)

    def read():
        until = time.time() + seconds
        for _ in stream:
            if time.time() > until:
                break
        stream.close()
    thread = threading.Thread(target=read)
    thread.start()
    return thread


def test_a_limit_of_requests_is_a_rate_limit_error(client_with):
    client = client_with("--requests-per-minute", "1")
    answer = client.chat.completions.with_raw_response.create(**QUESTION, max_tokens=4)
    assert answer.headers["x-ratelimit-limit-requests"] == "1"
    assert answer.headers["x-ratelimit-remaining-requests"] == "0"
    with pytest.raises(openai.RateLimitError, match="requests_per_minute") as over:
        client.chat.completions.create(**QUESTION, max_tokens=4)
    assert over.value.code == "rate_limit_exceeded"
    assert 0 < int(over.value.response.headers["retry-after"]) <= 60


def test_a_day_that_is_used_up_is_not_tried_again(client_with):
    client = client_with("--tokens-per-day", "60", max_retries=2)
    client.chat.completions.create(**QUESTION, max_tokens=8)
    began = time.time()
    with pytest.raises(openai.RateLimitError, match="tokens_per_day") as over:
        client.chat.completions.create(**QUESTION, max_tokens=20)
    assert over.value.code == "insufficient_quota"
    assert time.time() - began < 0.5


def test_the_clients_retries_wait_as_they_are_told(client_with):
    client = client_with("--max-concurrent", "1", max_retries=8)
    holder = hold_one(client, 1.5)
    began = time.time()
    answer = client.chat.completions.create(**QUESTION, max_tokens=4)
    assert answer.usage.completion_tokens > 0
    assert time.time() - began >= 1
    holder.join()


def test_a_model_that_the_key_is_not_for(client_with):
    client = client_with("--models", "another")
    with pytest.raises(openai.PermissionDeniedError) as denied:
        client.chat.completions.create(**QUESTION)
    assert denied.value.code == "model_not_allowed"
    assert client.models.list().data == []


def test_the_node_client(closed_server, state, node_folder):
    once = run_keys(state, "create", "node", "--requests-per-minute", "1")["key"]
    alone = run_keys(state, "create", "node", "--max-concurrent", "1")["key"]
    script = pathlib.Path(__file__).parent / "node" / "limits.mjs"
    done = subprocess.run(["node", str(script)], cwd=node_folder, capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, BASE_URL=closed_server.url + "/v1", ONCE=once, ALONE=alone,
                                   CLIENT=str(node_folder / "node_modules/openai")))
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["refused"]["name"] == "RateLimitError"
    assert seen["refused"]["code"] == "rate_limit_exceeded"
    assert 0 < int(seen["refused"]["retryAfter"]) <= 60
    assert seen["waited_s"] >= 1 and seen["completion_tokens"] > 0
