"""What a client with an API key of ours sees, from `vitrine keys` to the end of the key."""
import time

import openai
import pytest

from conftest import ServerProcess, run_keys

STORY = [{"role": "user", "content": "Tell me a long story."}]


def client_with(server, key):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)


def test_a_wrong_key_is_the_clients_own_exception(closed_server):
    with pytest.raises(openai.AuthenticationError) as wrong:
        client_with(closed_server, "none").models.list()
    assert wrong.value.code == "invalid_api_key" and wrong.value.type == "authentication_error"


def test_a_key_made_while_the_server_runs_lives_until_it_is_rotated(closed_server, state):
    made = run_keys(state, "create", "laptop")
    assert client_with(closed_server, made["key"]).models.list().data
    rotated = run_keys(state, "rotate", made["id"])
    with pytest.raises(openai.AuthenticationError, match="rotated"):
        client_with(closed_server, made["key"]).models.list()
    assert client_with(closed_server, rotated["key"]).models.list().data


def test_a_stream_ends_within_a_second_of_its_key(closed_server, state):
    made = run_keys(state, "create", "laptop")
    client = client_with(closed_server, made["key"])
    stream = client.chat.completions.create(model="smollm2", messages=STORY, stream=True, max_tokens=4000,
                                            extra_body={"ignore_eos": True})
    next(stream)
    run_keys(state, "revoke", made["id"])
    revoked_at = time.time()
    with pytest.raises(openai.APIError, match="revoked"):
        for _ in stream:
            pass
    assert time.time() - revoked_at < 1
    with pytest.raises(openai.AuthenticationError, match="revoked"):
        client.models.list()


def test_a_key_keeps_to_its_plan_and_is_refused_without_it(tmp_path):
    visitor = run_keys(tmp_path, "create", "visitor", "--plan", "free")
    lost = run_keys(tmp_path, "create", "lost", "--plan", "gold")
    running = ServerProcess(tmp_path, "--plans", "free.requests_per_minute=1")
    try:
        client = client_with(running, visitor["key"])
        client.completions.create(model="smollm2", prompt="Hi", max_tokens=1)
        with pytest.raises(openai.RateLimitError, match="requests_per_minute"):
            client.completions.create(model="smollm2", prompt="Hi", max_tokens=1)
        run_keys(tmp_path, "limits", visitor["id"], "--requests-per-minute", "50")
        client.completions.create(model="smollm2", prompt="Hi", max_tokens=1)
        with pytest.raises(openai.PermissionDeniedError, match=r"the plan gold .* \[plans.gold\]") as refused:
            client_with(running, lost["key"]).models.list()
        assert refused.value.code == "plan_unknown"
    finally:
        assert running.stop() == 0
