"""Several models in one server, through the official client."""
import json
import os
import urllib.request

import openai
import pytest
from conftest import ServerProcess


@pytest.fixture(scope="module")
def two_models(tmp_path_factory):
    """Two names of one file, and memory for one of them."""
    flags = ["--ctx", "1024", "--kv-memory", "64MiB", "--memory", "300MiB"]
    running = ServerProcess(tmp_path_factory.mktemp("state"), *flags, names=("first", "second"))
    yield openai.OpenAI(base_url=running.url + "/v1", api_key="none", max_retries=0)
    assert running.stop() == 0, "the server did not end well"


def ask(client, model):
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Name a color."}], max_tokens=8, temperature=0)


def states(client):
    return {model.id: model.state for model in client.models.list()}


def test_each_is_loaded_when_asked_for_and_makes_room_for_the_other(two_models):
    assert states(two_models) == {"first": "ready", "gpt-4o-mini": "ready", "second": "unloaded"}
    first = ask(two_models, "first")
    second = ask(two_models, "second")
    assert second.choices[0].message.content == first.choices[0].message.content
    assert second.model == "second"
    assert second.timings["load_s"] > first.timings["load_s"]
    assert states(two_models) == {"first": "unloaded", "gpt-4o-mini": "unloaded", "second": "ready"}
    assert ask(two_models, "gpt-4o-mini").model == "first"


def test_a_table_of_the_settings_counts_for_its_model_alone(tmp_path):
    path = os.environ["VITRINE_TEST_MODEL"]
    template = tmp_path / "shout.jinja"
    template.write_text("{% for message in messages %}{{ message.content | upper }}{% endfor %}")
    settings = tmp_path / "serve.toml"
    settings.write_text(f"""
        ctx = 1024
        kv-memory = "64MiB"
        [models.short]
        path = "{path}"
        ctx = 256
        alias = ["small"]
        chat-template = "{template}"
    """)
    running = ServerProcess(tmp_path / "state", "--config", str(settings), models=[f"long={path}"])
    try:
        client = openai.OpenAI(base_url=running.url + "/v1", api_key="none", max_retries=0)
        assert {model.id: model.context_length for model in client.models.list()} == {
            "long": 1024, "gpt-4o-mini": 1024, "short": 256, "small": 256}
        prompts = {model: client.post("/apply-template", cast_to=object, body={"model": model, "messages": [{"role": "user", "content": "hi"}]})["prompt"]
                   for model in ("long", "small")}
        assert prompts["small"] == "HI" and "<|im_start|>user" in prompts["long"]
        with pytest.raises(openai.BadRequestError) as refused:
            client.completions.create(model="short", prompt="word " * 400, max_tokens=1)
        assert refused.value.code == "context_length_exceeded"
        assert client.completions.create(model="long", prompt="word " * 400, max_tokens=1).usage.prompt_tokens > 256
    finally:
        assert running.stop() == 0


def test_a_model_must_be_named_where_there_are_several(two_models):
    with pytest.raises(openai.BadRequestError) as refused:
        two_models.chat.completions.create(model="", messages=[{"role": "user", "content": "Hi"}])
    assert refused.value.param == "model"


def test_the_trace_of_an_answer_adds_up(server, client):
    answer = client.chat.completions.with_raw_response.create(model="smollm2", messages=[{"role": "user", "content": "Count to ten."}], max_tokens=30)
    with urllib.request.urlopen(f"{server.url}/v1/requests/{answer.headers['x-request-id']}/trace") as response:
        trace = json.load(response)
    assert trace["usage"]["completion_tokens"] == answer.parse().usage.completion_tokens
    assert {"template", "tokenize", "prefill", "decode", "sample", "detokenize"} <= set(trace["stages"])
    assert trace["unaccounted_s"] < 0.1 * trace["wall_s"]
