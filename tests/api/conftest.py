"""A server over the real model for the official clients."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import openai
import pytest


class ServerProcess:
    """`vitrine serve` on a free port; `url` is its address without a path. Its keys are those of the folder `state`.

    `names` are those of the test's model; `models`, where given, are words NAME=PATH in their place; `env` are further
    variables of the environment."""

    def __init__(self, state, *flags, names=("smollm2",), models=None, env=None):
        models = models or [f"{name}={os.environ['VITRINE_TEST_MODEL']}" for name in names]
        first = models[0].partition("=")[0]
        self.process = subprocess.Popen(
            [os.environ["VITRINE_BINARY"], "serve", *models, "--port", "0", "--alias", f"gpt-4o-mini={first}", *flags],
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "VITRINE_STATE": str(state), **(env or {})})
        self.url = None
        for line in self.process.stderr:
            found = re.search(r"Serving .+ at (http://\S+)", line)
            if found:
                self.url = found[1]
                break
        assert self.url, "the server did not start"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=35)


def pytest_collection_modifyitems(items):
    if os.environ.get("VITRINE_TEST_MODEL"):
        return
    for item in items:
        item.add_marker(pytest.mark.skip(reason="needs VITRINE_TEST_MODEL, a GGUF file"))


def run_keys(state, *words):
    """`vitrine keys WORDS`: the JSON that it prints."""
    command = [os.environ["VITRINE_BINARY"], "keys", *words, "--json"]
    return json.loads(subprocess.check_output(command, env={**os.environ, "VITRINE_STATE": str(state)}))


def find_tool(name, package):
    """The path of a program that a test needs; where it is missing the test is skipped, or fails under CI=true."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if path:
        return path
    missing = f"needs {name}, of Debian's package {package}"
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    pytest.skip(missing)


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = ServerProcess(tmp_path_factory.mktemp("state"))
    yield running
    assert running.stop() == 0, "the server did not end well"


@pytest.fixture(scope="session")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(scope="module")
def closed_server(state):
    """Its requests need one of the keys in `state`."""
    run_keys(state, "create", "keeps it closed")
    running = ServerProcess(state)
    yield running
    assert running.stop() == 0, "the server did not end well"


@pytest.fixture(scope="session")
def node_folder():
    folder = pathlib.Path(os.environ.get("VITRINE_NODE_CLIENT", ""))
    if not (folder / "node_modules" / "openai").is_dir():
        pytest.skip("needs VITRINE_NODE_CLIENT, a folder with the openai package for Node")
    return folder
