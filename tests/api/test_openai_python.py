"""What users of the official Python client do, against the real model."""
import asyncio
import json
import math
import os
import re
import struct
import subprocess
import time

import openai
import pytest

MODEL = "gpt-4o-mini"
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


def ask(client, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": QUESTION, "temperature": 0, "max_tokens": 24, **more})


def test_models_lists_the_model_and_its_alias(client):
    assert [model.id for model in client.models.list()] == ["smollm2", "gpt-4o-mini"]


def test_a_chat_is_answered_as_on_the_command_line(client):
    answer = ask(client)
    command = [os.environ["VITRINE_BINARY"], "chat", os.environ["VITRINE_TEST_MODEL"], QUESTION[0]["content"], "-n", "24",
               "--temperature", "0", "--json"]
    assert answer.choices[0].message.content == json.loads(subprocess.check_output(command))["text"]
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_the_script_of_a_first_time_user_runs_as_it_is(client):
    start = time.time()
    times, text = [], ""
    stream = client.chat.completions.create(model=MODEL, messages=QUESTION, temperature=0, max_tokens=24, stream=True)
    for chunk in stream:
        times.append(time.time())
        text += chunk.choices[0].delta.content
    assert text == ask(client).choices[0].message.content
    ttft, itl = times[0] - start, (times[-1] - times[0]) / (len(times) - 1)
    assert ttft > 0 and itl > 0


def test_usage_comes_last_when_asked_for(client):
    chunks = list(ask(client, stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens <= 24
    assert all(chunk.usage is None for chunk in chunks[:-1])


LONG = [{"role": "user", "content": "The river runs to the sea. " * 200}]


def test_progress_is_told_in_chunks_that_the_client_passes_on(client):
    chunks = list(ask(client, messages=LONG, stream=True, stream_options={"include_progress": True, "include_usage": True}))
    told = [chunk.progress for chunk in chunks if "progress" in chunk.model_fields_set | set(chunk.model_extra)]
    usage = chunks[-1].usage
    assert [progress["state"] for progress in told] == ["prefill"] * len(told) and len(told) >= 2
    assert told[-1]["tokens_done"] == told[-1]["tokens"] == usage.prompt_tokens
    assert told[-1]["cached_tokens"] == usage.prompt_tokens_details.cached_tokens
    assert all(chunk.choices == [] for chunk in chunks if "progress" in chunk.model_extra)
    text = "".join(chunk.choices[0].delta.content for chunk in chunks if chunk.choices)
    assert text == ask(client, messages=LONG).choices[0].message.content


def test_the_clients_own_stream_helper_reads_past_progress(client):
    with client.chat.completions.stream(model=MODEL, messages=QUESTION, temperature=0, max_tokens=24, stop=[" "],
                                        stream_options={"include_progress": True}) as stream:
        text = stream.get_final_completion().choices[0].message.content
    assert text == ask(client, stop=[" "]).choices[0].message.content


def test_progress_of_a_text_completion(client):
    chunks = list(client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=4, temperature=0, stream=True,
                                            stream_options={"include_progress": True}))
    assert [chunk.progress["state"] for chunk in chunks if not chunk.choices]
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)


def test_logprobs_are_those_of_the_tokens(client):
    answer = ask(client, logprobs=True, top_logprobs=3)
    content = answer.choices[0].logprobs.content
    assert bytes(byte for entry in content for byte in entry.bytes).decode() == answer.choices[0].message.content
    for entry in content:
        assert entry.top_logprobs[0].logprob == pytest.approx(entry.logprob)  # greedy: the most probable was taken
        assert len(entry.top_logprobs) == 3


def test_a_seed_repeats_an_answer_and_choices_differ(client):
    first = ask(client, temperature=1.0, seed=7, n=2)
    second = ask(client, temperature=1.0, seed=7, n=2)
    texts = [choice.message.content for choice in first.choices]
    assert texts == [choice.message.content for choice in second.choices]
    assert texts[0] != texts[1]


def test_text_completions(client):
    answer = client.completions.create(model=MODEL, prompt=["Once upon a time", "The sky is"], max_tokens=8, temperature=0,
                                       logprobs=2)
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert len(answer.choices[0].logprobs.tokens) == 8
    stream = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=8, temperature=0, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == answer.choices[0].text
    echoed = client.completions.create(model=MODEL, prompt="Once upon a time", max_tokens=8, temperature=0, echo=True)
    assert echoed.choices[0].text == "Once upon a time" + answer.choices[0].text


def test_errors_are_the_clients_own_exceptions(client):
    with pytest.raises(openai.NotFoundError) as missing:
        ask(client, model="nope")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as bad:
        ask(client, n=99)
    assert bad.value.param == "n"
    with pytest.raises(openai.BadRequestError):
        ask(client, tools=[{"type": "function", "function": {"name": "f"}}])


@pytest.mark.parametrize("base", ["/v1", "", "/api", "/api/v1"])
def test_any_usual_base_url_works(server, base):
    client = openai.OpenAI(base_url=server.url + base, api_key="none", max_retries=0)
    assert client.models.list().data[0].id == "smollm2"
    assert ask(client, max_tokens=1).choices[0].message.content


def test_a_timeout_of_the_client_ends_the_work(server, client):
    impatient = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=0.2)
    with pytest.raises(openai.APITimeoutError):
        ask(impatient, max_tokens=4000, extra_body={"ignore_eos": True})
    assert ask(client, max_tokens=1).usage.completion_tokens == 1


def test_many_at_once_get_the_answers_of_one_alone(server, client):
    questions = [f"Tell me about the number {n}." for n in range(12)]
    alone = [ask(client, messages=[{"role": "user", "content": text}]).choices[0].message.content for text in questions]

    async def all_at_once():
        many = openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        answers = await asyncio.gather(*[
            many.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], temperature=0,
                                         max_tokens=24) for text in questions])
        return [answer.choices[0].message.content for answer in answers]

    assert asyncio.run(all_at_once()) == alone


def read_npy(path):
    """The rows of a two-dimensional float32 array."""
    data = path.read_bytes()
    header_end = 10 + struct.unpack("<H", data[8:10])[0]
    width = int(re.search(rb"'shape': \(\d+, (\d+)", data)[1])
    values = struct.unpack(f"<{(len(data) - header_end) // 4}f", data[header_end:])
    return [values[i : i + width] for i in range(0, len(values), width)]


def test_embeddings_are_the_mean_of_the_final_hidden_states(client, tmp_path):
    ids = [504, 3575, 282, 4649, 314]
    answer = client.embeddings.create(model=MODEL, input=ids)
    subprocess.check_output([os.environ["VITRINE_BINARY"], "trace", os.environ["VITRINE_TEST_MODEL"], "--ids",
                             ",".join(map(str, ids)), "--dump", str(tmp_path), "-n", "0"])
    rows = read_npy(tmp_path / "final_norm.npy")
    assert len(rows) == len(ids)
    sums = [sum(column) for column in zip(*rows)]
    length = math.sqrt(sum(value * value for value in sums))
    assert answer.data[0].embedding == pytest.approx([value / length for value in sums], abs=1e-6)
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == len(ids)


def test_embeddings_of_related_texts_lie_closer(client):
    texts = ["The cat sleeps on the sofa.", "A cat is sleeping on a couch.", "Interest rates rose in March."]
    answer = client.embeddings.create(model=MODEL, input=texts, encoding_format="float")
    cat, other_cat, rates = (entry.embedding for entry in answer.data)
    assert [entry.index for entry in answer.data] == [0, 1, 2]
    similarity = [sum(a * b for a, b in zip(cat, other)) for other in (other_cat, rates)]
    assert similarity[0] > similarity[1]
