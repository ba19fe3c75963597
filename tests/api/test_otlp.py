"""Finished requests as OpenTelemetry spans: what a receiver gets, and what happens when it does not take it."""
import base64
import http.server
import json
import os
import re
import subprocess
import threading
import urllib.request

import openai
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from conftest import ServerProcess

SECRET = "the heron stands on one leg"


def to_base64_ids(value):
    """OTLP writes ids in hexadecimal digits, protobuf's own JSON all bytes in base64."""
    if isinstance(value, list):
        return [to_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    ids = ("traceId", "spanId", "parentSpanId")
    return {key: base64.b64encode(bytes.fromhex(item)).decode() if key in ids else to_base64_ids(item)
            for key, item in value.items()}


def plain(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return getattr(value, kind)


class Receiver:
    """An OTLP receiver. It answers with the statuses that wait in `answers`, (status, headers), then with 200."""

    def __init__(self):
        self.requests = []  # (path, headers, body)
        self.answers = []
        self.arrived = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                with receiver.arrived:
                    status, headers = receiver.answers.pop(0) if receiver.answers else (200, {})
                    receiver.requests.append((self.path, self.headers, body, status))
                    receiver.arrived.notify_all()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                answer = b"{}"
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait_for(self, is_there):
        with self.arrived:
            assert self.arrived.wait_for(is_there, timeout=60), "nothing came"

    def spans(self):
        """The spans of all batches that were taken, each checked by the official schema."""
        spans = []
        for _, _, body, status in self.requests:
            if status == 200:
                message = json_format.Parse(json.dumps(to_base64_ids(json.loads(body))), ExportTraceServiceRequest())
                spans += [span for one in message.resource_spans for scope in one.scope_spans for span in scope.spans]
        return spans

    def wait_for_roots(self, count):
        def roots():
            return [span for span in self.spans() if span.kind == 2]
        self.wait_for(lambda: len(roots()) >= count)
        return roots()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def attributes(span):
    return {item.key: plain(item.value) for item in span.attributes}


@pytest.fixture()
def receiver():
    running = Receiver()
    yield running
    running.close()


@pytest.fixture()
def start(tmp_path):
    """Starts servers that the test need not stop."""
    running = []

    def start_one(*flags, **more):
        running.append(ServerProcess(tmp_path, *flags, **more))
        return running[-1]

    yield start_one
    for server in running:
        if server.process.poll() is None:
            assert server.stop() == 0, "the server did not end well"


def ask(server, headers=None, **more):
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, default_headers=headers)
    messages = [{"role": "user", "content": SECRET}]
    return client.chat.completions.create(**{"model": "smollm2", "messages": messages, "max_tokens": 6, **more})


def counted(server):
    text = urllib.request.urlopen(server.url + "/metrics").read().decode()
    return {outcome: float(value)
            for outcome, value in re.findall(r'vitrine_otlp_spans_total\{outcome="(\w+)"\} (\S+)', text)}


def test_a_chat_is_a_span_with_the_stages_below_it(start, receiver):
    server = start("--otlp-endpoint", receiver.url)
    answer = ask(server, temperature=0.5, top_p=0.9, seed=7, frequency_penalty=0.25, model="gpt-4o-mini")
    root = receiver.wait_for_roots(1)[0]
    path, headers, body, _ = receiver.requests[0]
    assert path == "/v1/traces"
    assert headers["content-type"] == "application/json"
    assert SECRET not in body.decode() and answer.choices[0].message.content not in body.decode()
    assert root.name == "chat gpt-4o-mini" and not root.parent_span_id and root.status.code == 0
    found = attributes(root)
    wanted = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "vitrine", "gen_ai.system": "vitrine",
              "gen_ai.request.model": "gpt-4o-mini", "gen_ai.response.model": "smollm2",
              "gen_ai.request.temperature": 0.5, "gen_ai.request.frequency_penalty": 0.25, "gen_ai.request.seed": 7,
              "gen_ai.request.max_tokens": 6, "gen_ai.usage.input_tokens": answer.usage.prompt_tokens,
              "gen_ai.usage.output_tokens": answer.usage.completion_tokens,
              "gen_ai.usage.cache_read.input_tokens": answer.usage.prompt_tokens_details.cached_tokens,
              "gen_ai.response.finish_reasons": [answer.choices[0].finish_reason], "http.request.method": "POST",
              "http.route": "/v1/chat/completions", "http.response.status_code": 200}
    assert {name: found.get(name) for name in wanted} == wanted
    assert found["gen_ai.request.top_p"] == pytest.approx(0.9, abs=1e-6)
    parts = sum(value for name, value in found.items() if name.startswith("vitrine.parts."))
    wall = (root.end_time_unix_nano - root.start_time_unix_nano) * 1e-9
    assert parts + found["vitrine.unaccounted"] == pytest.approx(wall, abs=1e-6)
    children = [span for span in receiver.spans() if span.parent_span_id == root.span_id]
    assert {"template", "tokenize", "queue", "lookup", "prefill", "decode", "write"} <= {one.name for one in children}
    for child in children:
        assert child.trace_id == root.trace_id and len(child.span_id) == 8 and child.kind == 1
        assert root.start_time_unix_nano <= child.start_time_unix_nano <= child.end_time_unix_nano
        assert child.end_time_unix_nano <= root.end_time_unix_nano
    assert len({one.span_id for one in receiver.spans()}) == len(receiver.spans())


def test_whose_spans_they_are(start, receiver):
    server = start("--otlp-endpoint", receiver.url, env={"OTEL_SERVICE_NAME": "chat server",
                                                         "OTEL_RESOURCE_ATTRIBUTES": "place=test%20one,a=b"})
    ask(server)
    receiver.wait_for_roots(1)
    resource = json.loads(receiver.requests[0][2])["resourceSpans"][0]["resource"]["attributes"]
    found = {item["key"]: item["value"]["stringValue"] for item in resource}
    assert found["service.name"] == "chat server" and found["place"] == "test one" and found["a"] == "b"
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["service.version"])


def test_choices_streams_texts_and_embeddings(start, receiver):
    server = start("--otlp-endpoint", receiver.url)
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
    list(ask(server, n=3, stream=True, max_tokens=5))
    client.completions.create(model="smollm2", prompt=SECRET, max_tokens=20, stop=["e"])
    client.embeddings.create(model="smollm2", input=[SECRET, "and another"])
    roots = {attributes(span)["gen_ai.operation.name"]: attributes(span) for span in receiver.wait_for_roots(3)}
    assert len(roots["chat"]["gen_ai.response.finish_reasons"]) == 3
    assert roots["chat"]["gen_ai.request.choice.count"] == 3
    assert roots["chat"]["gen_ai.request.stream"] is True
    assert roots["chat"]["gen_ai.response.time_to_first_chunk"] > 0
    assert roots["text_completion"]["gen_ai.request.stream"] is False
    assert roots["embeddings"]["gen_ai.usage.input_tokens"] > 0
    assert "gen_ai.request.temperature" not in roots["embeddings"]


def test_the_parent_is_the_one_of_traceparent(start, receiver):
    server = start("--otlp-endpoint", receiver.url)
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    ask(server, headers={"traceparent": f"00-{trace}-{span}-00"})  # its trace is not recorded
    ask(server, headers={"traceparent": f"00-{trace}-{span}-01", "tracestate": "vendor=1"})
    ask(server, headers={"traceparent": f"00-{trace.upper()}-{span}-01"})  # none at all
    first, second = receiver.wait_for_roots(2)
    assert first.trace_id.hex() == trace and first.parent_span_id.hex() == span and first.trace_state == "vendor=1"
    assert second.trace_id.hex() != trace and not second.parent_span_id and not second.trace_state


@pytest.mark.parametrize("given", ["flags", "variables", "settings", "address"])
def test_headers_and_basic_auth(start, receiver, given, tmp_path):
    basic = "Basic " + base64.b64encode(b"pk-lf-1:sk-lf-2").decode()
    base = receiver.url + "/api/public/otel"
    if given == "flags":
        start_with = {"flags": ["--otlp-endpoint", base, "--otlp-header", "Authorization: " + basic, "--otlp-header",
                                "x-more: a, b=c"], "env": {}}
    elif given == "variables":
        encoded = basic.replace(" ", "%20").replace("=", "%3D")
        start_with = {"flags": [], "env": {"OTEL_EXPORTER_OTLP_ENDPOINT": base + "/", "OTEL_EXPORTER_OTLP_HEADERS":
                                           f"Authorization={encoded}, x-more=a%2C b%3Dc"}}
    elif given == "settings":
        file = tmp_path / "serve.toml"
        file.write_text(f'otlp-endpoint = "{base}"\notlp-header = ["Authorization: {basic}", "x-more: a, b=c"]\n')
        start_with = {"flags": ["--config", str(file)], "env": {}}
    else:
        start_with = {"flags": ["--otlp-endpoint", base.replace("//", "//pk-lf-1:sk-lf-2@"), "--otlp-header",
                                "x-more: a, b=c"], "env": {}}
    server = start(*start_with["flags"], env=start_with["env"])
    ask(server)
    receiver.wait_for_roots(1)
    path, headers, _, _ = receiver.requests[0]
    assert path == "/api/public/otel/v1/traces"
    assert headers["authorization"] == basic and headers["x-more"] == "a, b=c"


def test_an_endpoint_for_traces_is_taken_as_it_stands_and_a_flag_counts_first(start, receiver):
    ask(start(env={"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.url + "/any/path?tenant=1",
                   "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}))
    receiver.wait_for_roots(1)
    ask(start("--otlp-endpoint", receiver.url + "/flag", env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}))
    receiver.wait_for_roots(2)
    assert [request[0] for request in receiver.requests] == ["/any/path?tenant=1", "/flag/v1/traces"]


@pytest.mark.parametrize("env", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}])
def test_variables_can_be_turned_off(start, receiver, env):
    server = start(env={"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, **env})
    ask(server)
    assert server.stop() == 0
    assert not receiver.requests


def test_a_busy_receiver_is_asked_again(start, receiver):
    receiver.answers = [(503, {"retry-after": "1"}), (429, {}), (502, {}), (504, {})]
    server = start("--otlp-endpoint", receiver.url)
    ask(server)
    receiver.wait_for_roots(1)
    assert [request[3] for request in receiver.requests] == [503, 429, 502, 504, 200]
    assert len({request[2] for request in receiver.requests}) == 1, "it must be the same batch each time"
    assert len(receiver.wait_for_roots(1)) == 1


@pytest.mark.parametrize("status, advice", [(401, "--otlp-header"), (404, "path"), (400, ""), (500, ""), (301, "")])
def test_what_a_receiver_refuses_is_dropped_counted_and_told_once(start, receiver, status, advice):
    receiver.answers = [(status, {"location": receiver.url + "/elsewhere"})] * 2
    server = start("--otlp-endpoint", receiver.url, "--log-format", "off")
    for i in range(2):
        ask(server)
        receiver.wait_for(lambda wanted=i + 1: len(receiver.requests) == wanted)
    ask(server)
    receiver.wait_for_roots(1)
    num_lost = sum(len(json.loads(request[2])["resourceSpans"][0]["scopeSpans"][0]["spans"])
                   for request in receiver.requests if request[3] == status)
    assert server.stop() == 0
    assert len(receiver.requests) == 3 and num_lost > 10
    told = [line for line in server.process.stderr.read().splitlines() if "spans are lost" in line]
    assert len(told) == 1 and f"status {status}" in told[0] and advice in told[0]
    assert receiver.url in told[0]


def test_losses_are_counted(start, receiver):
    receiver.answers = [(400, {})]
    server = start("--otlp-endpoint", receiver.url)
    assert counted(server) == {"sent": 0, "dropped": 0}
    ask(server)
    receiver.wait_for(lambda: len(receiver.requests) == 1)
    ask(server)
    receiver.wait_for_roots(1)
    ask(server)  # the counts of a batch are there before the next one goes out
    receiver.wait_for_roots(2)
    assert counted(server)["dropped"] > 5 and counted(server)["sent"] > 5


def test_without_a_receiver_requests_are_answered_and_the_server_stops(start):
    server = start("--otlp-endpoint", "http://127.0.0.1:9", "--log-format", "off")
    for _ in range(3):
        assert ask(server).choices[0].message.content
    assert server.stop() == 0
    told = [line for line in server.process.stderr.read().splitlines() if "spans are lost" in line]
    assert len(told) == 1 and "127.0.0.1:9" in told[0]


def test_what_is_left_is_sent_at_the_end(start, receiver):
    server = start("--otlp-endpoint", receiver.url)
    ask(server)
    assert server.stop() == 0
    assert len(receiver.wait_for_roots(1)) == 1


def test_a_client_that_leaves_is_an_error(start, receiver):
    server = start("--otlp-endpoint", receiver.url)
    with ask(server, stream=True, max_tokens=4000, extra_body={"ignore_eos": True}) as stream:
        next(iter(stream))
    root = receiver.wait_for_roots(1)[0]
    assert root.status.code == 2
    assert attributes(root)["error.type"] == "client_gone"
    assert attributes(root)["gen_ai.response.finish_reasons"] == ["abort"]


@pytest.mark.parametrize("flags, env, code, word", [
    (["--otlp-endpoint", "localhost:4318"], {}, 64, "http://"),
    (["--otlp-header", "A: b"], {}, 64, "--otlp-endpoint"),
    (["--otlp-endpoint", "http://x", "--otlp-header", "sk-secret"], {}, 64, "NAME: VALUE"),
    (["--otlp-endpoint", "http://x", "--otlp-header", "A: sk-secret\r\nB: c"], {}, 64, "NAME: VALUE"),
    ([], {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"}, 78, "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ([], {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, 78, "http/json"),
    ([], {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_HEADERS": "sk-secret"}, 78, "NAME=VALUE"),
])
def test_what_cannot_be_is_refused_at_the_start(tmp_path, flags, env, code, word):
    command = [os.environ["VITRINE_BINARY"], "serve", os.environ["VITRINE_TEST_MODEL"], "--check", *flags]
    ended = subprocess.run(command, env={**os.environ, "VITRINE_STATE": str(tmp_path), **env}, capture_output=True,
                           text=True, check=False)
    assert ended.returncode == code, ended.stderr
    assert word in ended.stderr and "sk-secret" not in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
