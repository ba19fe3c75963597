"""`vitrine doctor` over the real model and a real server: each fault with its fix and its exit code."""
import json
import os
import socket
import subprocess

import pytest

from conftest import run_keys

WELL = ("file", "tokenizer", "llama_cpp", "chat_template", "weights", "memory_fit", "self_check")


def doctor(*words, env=None):
    """(exit code, {name: check})."""
    clean = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY" and "proxy" not in name.lower()}
    ended = subprocess.run([os.environ["VITRINE_BINARY"], "doctor", *words, "--json"], env={**clean, **(env or {})},
                           capture_output=True, text=True, check=False)
    checks = json.loads(ended.stdout)["checks"]
    for check in checks:
        assert set(check) == {"name", "status", "detail", "fix"} and check["status"] in ("ok", "warn", "fail")
        assert check["detail"] and (check["status"] == "ok") == (check["fix"] is None)
    return ended.returncode, {check["name"]: check for check in checks}


def test_the_machine_alone():
    code, checks = doctor()
    assert code == 0
    assert {"instruction_set", "amx", "threads", "numa", "caches", "memory", "huge_pages", "bandwidth", "multiply"} == set(checks)


def test_a_model_is_looked_at_and_computed():
    code, checks = doctor(os.environ["VITRINE_TEST_MODEL"])
    assert code == 0
    for name in WELL:
        assert checks[name]["status"] == "ok", checks[name]
    assert "divergence" in checks["self_check"]["detail"]


def test_a_broken_file_is_65_and_a_missing_one_66(tmp_path):
    broken = tmp_path / "broken.gguf"
    with open(os.environ["VITRINE_TEST_MODEL"], "rb") as whole:
        broken.write_bytes(whole.read(1 << 20))
    code, checks = doctor(str(broken), "--no-measure")
    assert code == 65 and checks["file"]["status"] == "fail"
    code, checks = doctor(str(tmp_path / "none.gguf"), "--no-measure")
    assert code == 66 and checks["file"]["status"] == "fail"


def test_a_server_that_is_well(server):
    code, checks = doctor(server.url + "/v1", "-m", "smollm2")
    assert code == 0
    assert [checks[name]["status"] for name in ("base_url", "reachable", "api_key", "models", "answer")] == ["ok"] * 5


@pytest.mark.parametrize("path", ["", "/v1/chat/completions", "/v2", "/v1/models/"])
def test_a_wrong_base_url_is_put_right(server, path):
    code, checks = doctor(server.url + path)
    if path in ("", ):  # this server answers without /v1 as well
        assert code == 0
    else:
        assert code == 64 and checks["base_url"]["fix"] == f"base_url={server.url}/v1"


def test_a_wrong_model_scheme_and_port(server):
    code, checks = doctor(server.url + "/v1", "-m", "none-such")
    assert code == 66 and "smollm2" in checks["models"]["fix"]
    code, checks = doctor(server.url.replace("http://", "https://") + "/v1")
    assert code == 69 and checks["reachable"]["fix"] == f"base_url={server.url}/v1"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        code, checks = doctor(f"http://127.0.0.1:{free.getsockname()[1]}/v1")
    assert code == 69 and checks["reachable"]["status"] == "fail"


def test_keys(closed_server, state):
    code, checks = doctor(closed_server.url + "/v1")
    assert code == 77 and "--api-key" in checks["api_key"]["fix"]
    code, checks = doctor(closed_server.url + "/v1", "--api-key", "vtr-wrong")
    assert code == 77 and "keys list" in checks["api_key"]["fix"]
    key = run_keys(state, "create", "doctor")["key"]
    code, checks = doctor(closed_server.url + "/v1", env={"OPENAI_API_KEY": key})
    assert code == 0 and checks["api_key"]["detail"] == "the server takes it"
    code, checks = doctor(closed_server.url + "/v1", "--api-key", key + " ")
    assert code == 64 and key not in json.dumps(checks)


def test_a_proxy_in_the_way_is_told(server):
    _, checks = doctor(server.url + "/v1", env={"http_proxy": "http://127.0.0.1:9", "no_proxy": ""})
    assert "no_proxy" in checks["proxy"]["fix"]
