"""What lies in deploy/ fits the server, and its lists of packages fit the binary."""
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from conftest import find_tool, run_keys

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts/check_deploy"))
import dockerfile  # noqa: E402  what scripts/check_deploy reads it with
from common import packages_of  # noqa: E402
DEPLOY = ROOT / "deploy"
METRIC = re.compile(r"\b((?:vllm:|vitrine_)[a-z0-9_]+)(\{[^}]*\})?")


def read(file):
    return (ROOT / file).read_text(encoding="utf-8")


def get(url, key):
    """Status and body."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


# ---- Prometheus and Grafana ----

@pytest.fixture(scope="module")
def metrics(server):
    """The labels of each sample's name, after one answer."""
    body = json.dumps({"prompt": "Once", "max_tokens": 4, "ignore_eos": True}).encode()
    asked = urllib.request.Request(server.url + "/v1/completions", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(asked, timeout=60).read()
    labels = {}
    for name, some in re.findall(r"^([a-z][a-z0-9_:]*)(?:\{(.*)\})? ", get(server.url + "/metrics", "none")[1], re.MULTILINE):
        labels.setdefault(name, set()).update(re.findall(r"([a-z_]+)=\"", some))
    return labels


def dashboard_queries():
    dashboard = json.loads(read("deploy/grafana.json"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target["legendFormat"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"], ""


def test_the_dashboard_asks_for_what_the_server_counts(metrics):
    queries = list(dashboard_queries())
    assert len(queries) > 20
    for title, expression, legend in queries:
        found = METRIC.findall(expression)
        assert found, title
        for name, selector in found:
            assert name in metrics, f"{title}: the server has no {name}"
            wanted = re.findall(r"([a-z_]+)(?:=|!=|=~|!~)\"", selector)
            wanted += [label for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(", ")]
            wanted += [label for label in re.findall(r"\{\{(\w+)\}\}", legend) if label != "instance"]
            assert set(wanted) <= metrics[name], f"{title}: {name} has no label {set(wanted) - metrics[name]}"


def test_the_dashboard_shows_every_family(metrics):
    shown = {name for _, expression, _ in dashboard_queries() for name, _ in METRIC.findall(expression)}
    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics if name.startswith(("vllm:", "vitrine_"))}
    missing = [family for family in families if not any(name.startswith(family) for name in shown)]
    assert not missing


def test_prometheus_reads_the_metrics_with_its_key_and_nothing_else(closed_server, state, tmp_path):
    job = read("deploy/prometheus.yml")
    path = re.search(r"metrics_path: (\S+)", job)[1]
    file = re.search(r"credentials_file: (\S+)", job)[1]
    command = re.search(rf"vitrine keys create .* > {re.escape(file)}", job)[0]
    key_file = tmp_path / "vitrine.key"
    command = command.replace(file, shlex.quote(str(key_file))).replace("vitrine", shlex.quote(os.environ["VITRINE_BINARY"]), 1)
    subprocess.run(command, shell=True, check=True, env={**os.environ, "VITRINE_STATE": str(state)}, capture_output=True)
    key = key_file.read_text(encoding="utf-8").strip()
    status, text = get(closed_server.url + path, key)
    assert status == 200 and "vitrine_engine_steps_total" in text
    for other in ("/v1/models", "/v1/admin/keys", "/v1/admin/live"):
        status, text = get(closed_server.url + other, key)
        assert status == 403 and json.loads(text)["error"]["code"] == "scrape_key_only"
    assert [key["role"] for key in run_keys(state, "list")["keys"] if key["name"] == "prometheus"] == ["scrape"]


# ---- systemd ----

def test_systemd_takes_the_unit_and_finds_it_shut(tmp_path):
    analyze = find_tool("systemd-analyze", "systemd")
    unit = tmp_path / "vitrine.service"
    text = read("deploy/vitrine.service")
    assert "ExecStart=/usr/local/bin/vitrine " in text
    unit.write_text(text.replace("/usr/local/bin/vitrine", os.environ["VITRINE_BINARY"]), encoding="utf-8")
    verified = subprocess.run([analyze, "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    complaints = [line for line in verified.stderr.splitlines() if "vitrine.service" in line]
    assert verified.returncode == 0 and not complaints, verified.stderr
    # In tenths, of 100; a unit without any of it has 96.
    judged = subprocess.run([analyze, "security", "--offline=true", "--threshold=15", unit], capture_output=True, text=True,
                            check=False)
    assert judged.returncode == 0, judged.stdout


def test_the_units_settings_are_flags_of_serve():
    flags = subprocess.check_output([os.environ["VITRINE_BINARY"], "serve", "--help"], text=True)
    for text in (read("deploy/vitrine.service"), read("deploy/vitrine.env"), read("deploy/Dockerfile")):
        for flag in re.findall(r"(?<=[ \"])--(?:host|port|log)[a-z-]*", text):
            assert re.search(rf"{flag}\b", flags), flag


def served_flags(file):
    """The flags of `serve` there, without its address."""
    found = re.search(r'VITRINE_FLAGS=([^"\n]*)|^CMD \["serve", (.*)\]', read(file), re.MULTILINE)
    words = shlex.split(found[1] or found[2].replace(",", ""))
    return [word for number, word in enumerate(words) if not {"--host", "--port"} & set(words[max(number - 1, 0):number + 1])]


@pytest.mark.parametrize("file", ["deploy/vitrine.env", "deploy/vitrine.service", "deploy/Dockerfile"])
def test_the_services_log_is_json_alone(file, tmp_path):
    command = [os.environ["VITRINE_BINARY"], "serve", os.environ["VITRINE_TEST_MODEL"], *served_flags(file), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "VITRINE_STATE": str(tmp_path)}) as process:
        lines = [process.stderr.readline()]
        process.terminate()
        lines += process.stderr.readlines()
        assert process.wait(timeout=35) == 0, lines
    assert [json.loads(line)["event"] for line in lines] == ["start", "stop"]


# ---- the container ----

def dockerfile_steps():
    return [(step.name, step.text) for step in dockerfile.parse_instructions(read("deploy/Dockerfile"))]


def test_the_container_installs_what_the_lists_name():
    installed = []
    for kind, step in dockerfile_steps():
        if kind != "RUN" or "apt-get install" not in step:
            continue
        expression, file = re.search(r"sed -n ('[^']*') (\S+)", step).groups()
        name = re.fullmatch(r".*packages-(\w+)\.txt", file)[1]
        listed = subprocess.check_output(f"sed -n {expression} scripts/packages-{name}.txt", shell=True, cwd=ROOT, text=True)
        assert listed.split() == packages_of(name)
        literal = [word for word in re.search(r"apt-get install([^&]*)", step)[1].split() if not word.startswith("-")]
        assert literal == (["cargo-web"] if name == "build" else []), "a package that no list names"
        installed.append(name)
    assert installed == ["build", "run"]


def test_the_container_copies_what_is_there_and_leaves_out_nothing_tracked():
    for kind, step in dockerfile_steps():
        if kind == "COPY" and not step.startswith("--from"):
            assert all((ROOT / source).exists() for source in step.split()[:-1]), step
    patterns = [line for line in read(".dockerignore").splitlines() if line and not line.startswith("#")]
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()
    for name in tracked:
        parents = ["/".join(name.split("/")[:depth]) for depth in range(1, name.count("/") + 2)]
        ignored = [pattern for pattern in patterns for part in parents if fnmatch.fnmatch(part, pattern) and "/" not in part]
        assert not ignored, f"{name} would be missing in the build: {ignored}"


def test_the_list_of_libraries_is_that_of_the_binary():
    header = subprocess.check_output([find_tool("readelf", "binutils"), "-d", os.environ["VITRINE_BINARY"]], text=True)
    libraries = re.findall(r"NEEDED.*\[(.*)\]", header)
    owners = set()
    for library in libraries:
        found = subprocess.check_output(["dpkg-query", "-S", f"*/x86_64-linux-gnu/{library}"], text=True)
        owners.add(found.split(":")[0])
    assert owners - {"libc6"} == set(packages_of("run")) - {"ca-certificates", "python3-pip"}


def test_the_containers_health_check_tells_a_server_from_none(server):
    step = next(step for kind, step in dockerfile_steps() if kind == "HEALTHCHECK")
    command = json.loads(step[step.index("CMD ") + 4:])
    assert "127.0.0.1/8080" in command[-1]
    port = server.url.rsplit(":", 1)[1]
    for number, wanted in ((port, True), ("1", False)):
        check = [*command[:-1], command[-1].replace("127.0.0.1/8080", f"127.0.0.1/{number}")]
        assert (subprocess.run(check, timeout=20, capture_output=True, check=False).returncode == 0) == wanted
