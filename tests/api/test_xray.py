"""The X-ray of a request: what was computed comes out again, and it adds up."""
import math
import struct

import httpx2 as httpx
import pytest

from conftest import ServerProcess

CHAT = {"messages": [{"role": "user", "content": "Explain the KV cache in three sentences."}], "max_tokens": 24,
        "temperature": 0.8, "top_k": 40, "top_p": 0.95, "seed": 5}


def ask(url, **fields):
    answer = httpx.post(url + "/v1/chat/completions", json={**CHAT, **fields}, timeout=120)
    answer.raise_for_status()
    return answer.headers["x-request-id"], answer.json()


def get(url, request_id, path="", **query):
    return httpx.get(f"{url}/v1/requests/{request_id}/xray{path}", params=query, timeout=120)


def floats(answer):
    assert answer.headers["content-type"] == "application/octet-stream"
    return struct.unpack(f"<{len(answer.content) // 4}f", answer.content)


@pytest.fixture(scope="module")
def request_id(server):
    return ask(server.url)[0]


@pytest.fixture(scope="module")
def xray(server, request_id):
    answer = get(server.url, request_id)
    answer.raise_for_status()
    return answer.json()


def test_it_is_the_request(server, xray, request_id):
    assert xray["id"] == request_id
    assert xray["replay"]["equal"] is True
    assert xray["usage"]["completion_tokens"] == len(xray["steps"]) == 24
    assert xray["prompt_tokens"] + 24 == len(xray["tokens"])
    answer = b"".join(bytes.fromhex(token["bytes_hex"]) for token in xray["tokens"][xray["prompt_tokens"]:]
                      if not token["special"])
    said = ask(server.url)[1]["choices"][0]["message"]["content"]
    assert answer.decode("utf-8", "replace").startswith(said.strip()[:20])
    assert xray["sampling"]["temperature"] == 0.8 and xray["sampling"]["seed"] == 5
    shapes = {entry["name"]: entry["shape"] for entry in xray["shapes"]}
    assert shapes["input_ids"] == [1, xray["prompt_tokens"]]
    assert shapes["last_hidden_state"] == [1, xray["prompt_tokens"], 576]


def test_it_adds_up(xray):
    for step in (xray["layers"]["prefill"], xray["layers"]["decode"]):
        for layer in step["layers"]:
            for figure in ("time_s", "bytes", "flops"):
                assert math.isclose(sum(op[figure] for op in layer["ops"]), layer[figure], rel_tol=1e-9)
        parts = [*step["layers"], step["embedding"], step["head"]]
        assert math.isclose(sum(part["time_s"] for part in parts), step["total"]["time_s"], rel_tol=1e-9)
    assert xray["kv"]["bytes_held"] == (xray["prompt_tokens"] + 23) * xray["kv"]["bytes_per_token"]
    assert sum(block["filled"] for block in xray["kv"]["blocks"]) == xray["kv"]["tokens_held"]
    assert xray["roof"]["gb_per_s"] > 0


def test_each_token_follows_from_its_logits(server, xray, request_id):
    for step in xray["steps"][:6]:
        logits = floats(get(server.url, request_id, "/logits", step=step["step"]))
        peak = max(logits)
        assert peak == step["max_logit"]
        log_sum = peak + math.log(sum(math.exp(logit - peak) for logit in logits))
        assert math.isclose(log_sum, step["log_sum_exp"], abs_tol=1e-5)
        # The chain, over again: temperature, then the 40 most probable, then 95 % of what they hold.
        order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:40]
        weights = [math.exp((logits[i] - peak) / 0.8) for i in order]
        total, kept, held = sum(weights), [], 0.0
        for token, weight in zip(order, weights):
            kept.append((token, weight))
            held += weight
            if held >= 0.95 * total:
                break
        assert [link["name"] for link in step["chain"]][:2] == ["temperature", "top_k"]
        assert step["chain"][-1]["survivors"] == len(kept)
        after = {candidate["id"]: candidate["after"] for candidate in step["candidates"]}
        for token, weight in kept:
            if token in after:
                assert math.isclose(after[token], weight / held, rel_tol=1e-4)
        if len(kept) > 1:
            running = 0.0
            for token, weight in sorted(kept):
                running += weight / held
                if running > step["uniform"]:
                    break
            assert token == step["id"]
            assert step["interval"][0] <= step["uniform"] < step["interval"][1]


def test_the_last_layer_says_what_the_model_says(server, xray, request_id):
    first = xray["prompt_tokens"] - 1
    lens = get(server.url, request_id, "/lens", first=first, count=8).json()
    assert (lens["first"], lens["count"], len(lens["layers"])) == (first, 8, 31)
    for cell, step in zip(lens["layers"][-1], xray["steps"]):
        best = step["candidates"][0]
        assert cell["id"] == best["id"] and cell["is_final"]
        assert math.isclose(cell["probability"], best["probability"], rel_tol=1e-3)
    beyond = get(server.url, request_id, "/lens", first=len(xray["tokens"]) - 3, count=8).json()
    assert beyond["count"] == 2  # the last token was said and never computed


def test_attention_rows_are_distributions(server, xray, request_id):
    positions = len(xray["tokens"]) - 1
    row_length = positions * (positions + 1) // 2
    heads = floats(get(server.url, request_id, "/attention", layer=12))
    assert len(heads) == 9 * row_length
    assert floats(get(server.url, request_id, "/attention", layer=12, head=4)) == heads[4 * row_length:5 * row_length]
    at = 0
    for position in range(positions):
        assert math.isclose(sum(heads[at:at + position + 1]), 1.0, abs_tol=1e-4)
        at += position + 1


@pytest.mark.parametrize("path, query, param", [
    ("/logits", {"step": 24}, "step"), ("/logits", {}, "step"), ("/lens", {"first": 0, "count": 33}, "count"),
    ("/lens", {"first": 9999, "count": 1}, "first"), ("/lens", {"first": 0, "count": 0}, "count"),
    ("/attention", {"layer": 30}, "layer"), ("/attention", {"layer": -1}, "layer"),
    ("/attention", {"layer": 0, "head": 9}, "head")])
def test_wrong_places_are_named(server, request_id, path, query, param):
    refused = get(server.url, request_id, path, **query)
    assert refused.status_code == 400 and refused.json()["error"]["param"] == param


def test_unknown_requests_and_those_without_an_answer(server):
    assert get(server.url, "req-000000000000000000000000").status_code == 404
    embedded = httpx.post(server.url + "/v1/embeddings", json={"input": "a"}, timeout=60)
    assert get(server.url, embedded.headers["x-request-id"]).status_code in (400, 404)


def test_a_stop_string_and_a_cached_prompt(server):
    ask(server.url)
    request_id, answer = ask(server.url, stop=["is"], n=2, seed=9)
    xray = get(server.url, request_id).json()
    assert xray["replay"]["equal"] is True
    assert xray["kv"]["cached_tokens"] > 0
    assert xray["kv"]["prefix"]["reason"] in ("all_full_blocks_cached", "token_differs")
    assert answer["choices"][0]["finish_reason"] == xray["finish_reason"] == "stop"


def test_a_stream_says_what_it_sent(server):
    with httpx.stream("POST", server.url + "/v1/chat/completions", json={**CHAT, "stream": True}, timeout=120) as stream:
        sent = b"".join(stream.iter_bytes())
    xray = get(server.url, stream.headers["x-request-id"]).json()
    assert xray["stream"]["bytes"] == len(sent)
    assert xray["stream"]["events"] == sent.count(b"\n\n")
    assert 2 <= xray["stream"]["writes"] <= xray["stream"]["events"]
    assert get(server.url, ask(server.url)[0]).json()["stream"] is None


def test_beside_others_no_bit_changes(server):
    alone = ask(server.url, seed=77)[1]["choices"][0]["message"]["content"]
    request_id = ask(server.url, seed=78)[0]
    with httpx.stream("POST", server.url + "/v1/chat/completions", json={**CHAT, "seed": 77, "stream": True},
                      timeout=120) as stream:
        lines = stream.iter_lines()
        next(lines)
        assert get(server.url, request_id).json()["replay"]["equal"] is True
        rest = "".join(lines)
    assert "[DONE]" in rest
    assert ask(server.url, seed=77)[1]["choices"][0]["message"]["content"] == alone


def test_without_memory_it_says_why(tmp_path):
    server = ServerProcess(tmp_path, "--xray-memory", "1MiB")
    try:
        refused = get(server.url, ask(server.url)[0])
        assert refused.status_code == 400 and refused.json()["error"]["code"] == "xray_too_large"
        assert "MB are allowed" in refused.json()["error"]["message"]
    finally:
        server.stop()
