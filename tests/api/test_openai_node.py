"""The official Node client against the same server: node/client.mjs does the calls."""
import json
import os
import pathlib
import subprocess


def test_chat_stream_and_errors(server, node_folder):
    script = pathlib.Path(__file__).parent / "node" / "client.mjs"
    done = subprocess.run(["node", str(script)], cwd=node_folder, capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, BASE_URL=server.url + "/v1", CLIENT=str(node_folder / "node_modules/openai")))
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["models"] == ["smollm2", "gpt-4o-mini"]
    assert seen["text"] and seen["streamed"] == seen["text"]
    assert seen["gathered"] == seen["text"]
    assert seen["progress"][-1]["state"] == "prefill"
    assert seen["progress"][-1]["tokens_done"] == seen["progress"][-1]["tokens"] == seen["usage"]["prompt_tokens"]
    assert [round(length, 5) for length in seen["lengths"]] == [1, 1]
    assert seen["usage"]["completion_tokens"] > 0
    assert seen["missing"] == {"name": "NotFoundError", "status": 404, "code": "model_not_found"}
    assert seen["bad"] == {"name": "BadRequestError", "status": 400, "param": "n"}
