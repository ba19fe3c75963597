"""The proxies of deploy/ in front of real servers: TLS, keys, streams as they come, ids, health checks."""
import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import time

import pytest

from conftest import ServerProcess, find_tool, run_keys

DEPLOY = pathlib.Path(__file__).parents[2] / "deploy"
NAME = "llm.example.com"
NGINX_MAIN = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/vitrine.conf;
}}
"""


def wait_until(is_true, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def replaced(file, changes):
    """The example with what differs on this machine; every change must meet something."""
    text = (DEPLOY / file).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{file} has no {old!r}"
        text = text.replace(old, new)
    return text


class Replica:
    """A server behind the proxies. All share one folder of keys."""

    def __init__(self, folder, number):
        self.log = folder / f"replica{number}.log"
        self.process = ServerProcess(folder / "state", "--log-format", "json", "--log", str(self.log))
        self.address = self.process.url.removeprefix("http://")
        self.is_stopped = False

    def num_running(self, key):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {key}"})
        return sum(map(float, re.findall(r"^vllm:num_requests_running\S* (\S+)", connection.getresponse().read().decode(),
                                         re.MULTILINE)))

    def stop(self):
        if not self.is_stopped:
            self.is_stopped = True
            assert self.process.stop() == 0


class TlsConnection(http.client.HTTPSConnection):
    """To the proxy on this machine, under the name of its certificate."""

    def __init__(self, port, certificate):
        super().__init__(NAME, port, timeout=60, context=ssl.create_default_context(cafile=certificate))
        self.proxy_port = port

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.proxy_port), timeout=60)
        self.sock = self._context.wrap_socket(plain, server_hostname=NAME)


class Proxy:
    """`log` is where it notes requests; what it prints goes to `output`, which may be the same file."""

    def __init__(self, command, port, certificate, output, log):
        self.port, self.certificate, self.log = port, certificate, log
        self.output = open(output, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, stdout=self.output, stderr=subprocess.STDOUT)
        wait_until(lambda: accepts(port) or self.process.poll() is not None, "the proxy listens")
        assert self.process.poll() is None, pathlib.Path(self.output.name).read_text(encoding="utf-8")

    def request(self, method, path, key=None, body=None, headers=()):
        """The answer, its body unread."""
        headers = dict(headers)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = TlsConnection(self.port, self.certificate)
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        answer.connection = connection  # lives as long
        return answer

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)
        self.output.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed one with its key in the same file, as HAProxy wants it."""
    file = tmp_path_factory.mktemp("certificate") / "llm.example.com.pem"
    subprocess.run([find_tool("openssl", "openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", file, "-out", f"{file}.crt"],
                   check=True, capture_output=True)
    with open(file, "a", encoding="utf-8") as both:
        both.write(pathlib.Path(f"{file}.crt").read_text(encoding="utf-8"))
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("proxies")


@pytest.fixture(scope="module")
def keys(folder):
    return {"user": run_keys(folder / "state", "create", "laptop"),
            "scrape": run_keys(folder / "state", "create", "prometheus", "--scrape")}


@pytest.fixture(scope="module")
def replicas(folder, keys):  # pylint: disable=unused-argument
    both = [Replica(folder, number) for number in (1, 2)]
    yield both
    for replica in both:
        replica.stop()


def start_nginx(folder, certificate, replicas):
    port = free_port()
    site = replaced("nginx.conf", {
        "listen 443": f"listen 127.0.0.1:{port}", "listen 80": f"listen 127.0.0.1:{free_port()}",
        "server 127.0.0.1:8080": f"server {replicas[0].address}",
        "/etc/ssl/certs/llm.example.com.pem": str(certificate), "/etc/ssl/private/llm.example.com.key": str(certificate),
        "/var/log/nginx/vitrine.log": f"{folder}/nginx.log"})
    (folder / "vitrine.conf").write_text(site, encoding="utf-8")
    (folder / "nginx.conf").write_text(NGINX_MAIN.format(folder=folder), encoding="utf-8")
    command = [find_tool("nginx", "nginx"), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    return Proxy(command, port, certificate, folder / "nginx.out", folder / "nginx.log")


def start_haproxy(folder, certificate, replicas):
    port = free_port()
    changes = {"bind :443": f"bind 127.0.0.1:{port}", "/etc/haproxy/llm.example.com.pem": str(certificate),
               "/run/haproxy/admin.sock": str(folder / "admin.sock"), "log /dev/log": "log stdout format raw",
               "127.0.0.1:8081": replicas[0].address, "127.0.0.1:8082": replicas[1].address}
    if os.geteuid() != 0:
        changes.update({"    user haproxy\n": "", "    group haproxy\n": ""})
    config = folder / "haproxy.cfg"
    config.write_text(replaced("haproxy.cfg", changes), encoding="utf-8")
    command = [find_tool("haproxy", "haproxy"), "-db", "-f", str(config)]
    return Proxy(command, port, certificate, folder / "haproxy.log", folder / "haproxy.log")


def replica_states(folder):
    """HAProxy's word for each: UP, DOWN, or the check on its way from one to the other."""
    with socket.socket(socket.AF_UNIX) as admin:
        admin.connect(str(folder / "admin.sock"))
        admin.sendall(b"show stat\n")
        table = admin.makefile(encoding="utf-8").read().splitlines()
    columns = table[0].lstrip("# ").split(",")
    rows = [dict(zip(columns, line.split(","))) for line in table[1:] if line]
    return {row["svname"]: row["status"] for row in rows if row["pxname"] == "vitrine" and row["svname"] != "BACKEND"}


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def proxy(request, folder, certificate, replicas):
    start = {"nginx": start_nginx, "haproxy": start_haproxy}[request.param]
    running = start(folder, certificate, replicas)
    yield running
    running.stop()


def content_events(answer):
    """The text of each event of a streamed answer, as they come."""
    for line in answer:
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:])["choices"]
            if choices and choices[0]["delta"].get("content"):
                yield choices[0]["delta"]["content"]


def test_a_stream_comes_piece_by_piece_and_ends_with_its_client(proxy, replicas, keys):
    body = {"messages": [{"role": "user", "content": "Tell me a long story."}], "stream": True, "max_tokens": 4000,
            "ignore_eos": True}
    answer = proxy.request("POST", "/v1/chat/completions", keys["user"]["key"], body)
    assert answer.status == 200
    events = content_events(answer)
    assert all(next(events) for _ in range(5))
    scrape = keys["scrape"]["key"]
    assert sum(replica.num_running(scrape) for replica in replicas) == 1, "five pieces are here, the rest is being made"
    answer.connection.sock.shutdown(socket.SHUT_RDWR)
    answer.connection.close()
    wait_until(lambda: sum(replica.num_running(scrape) for replica in replicas) == 0, "the answer ends")


def test_a_key_is_needed_and_passed_on(proxy, keys):
    answer = proxy.request("GET", "/v1/models")
    assert answer.status == 401 and answer.headers["www-authenticate"] == "Bearer"
    assert json.load(answer)["error"]["code"] == "invalid_api_key"
    answer = proxy.request("GET", "/v1/models", keys["user"]["key"])
    assert answer.status == 200 and json.load(answer)["data"][0]["id"] == "smollm2"


def test_one_id_leads_from_the_client_to_the_servers_log(proxy, replicas, keys):
    answer = proxy.request("GET", "/v1/models", keys["user"]["key"])
    request_id = answer.headers["x-request-id"]

    def server_lines():
        lines = [json.loads(line) for replica in replicas for line in replica.log.read_text(encoding="utf-8").splitlines()]
        return [line for line in lines if line.get("request_id") == request_id]

    wait_until(server_lines, "the server's line")
    assert server_lines()[0]["key_id"] == keys["user"]["id"]
    wait_until(lambda: request_id in proxy.log.read_text(encoding="utf-8"), "the proxy's line")
    for file in (proxy.log, *(replica.log for replica in replicas)):
        assert keys["user"]["key"][12:40] not in file.read_text(encoding="utf-8")


def test_another_name_is_refused(proxy):
    assert proxy.request("GET", "/health", headers={"Host": "evil.example.com"}).status == 421


def test_a_long_prompt_reaches_the_server(proxy, keys):
    body = {"content": "word " * 300_000}
    answer = proxy.request("POST", "/tokenize", keys["user"]["key"], body)
    assert answer.status == 200, answer.read()
    assert len(json.load(answer)["tokens"]) >= 300_000


@pytest.mark.parametrize("proxy", ["haproxy"], indirect=True)
def test_a_replica_that_ends_is_left_out(proxy, folder, replicas, keys):
    wait_until(lambda: set(replica_states(folder).values()) == {"UP"}, "both are up")
    replicas[1].stop()
    for _ in range(5):
        assert proxy.request("GET", "/v1/models", keys["user"]["key"]).status == 200, "before the check has seen it"
    wait_until(lambda: replica_states(folder) == {"replica1": "UP", "replica2": "DOWN"}, "one is down")
    assert proxy.request("GET", "/v1/models", keys["user"]["key"]).status == 200
