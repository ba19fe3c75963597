"""What must hold of the image that deploy/Dockerfile describes, and of a container made of it."""
import json
import re
import shutil

import client
from common import output_of, packages_of, run
from container import Container, Volumes, run_once
from network import ADDRESS
from roots import PATH, entry, make_base

BINARY = "/usr/local/bin/vitrine"
SHORT_STREAM, LONG_STREAM = 200, 8000


def query_packages(root, script):
    return set(output_of(entry(root, ["/bin/sh", "-c", script], env={"PATH": PATH})).split())


def check_contents(checks, image, options):
    base = make_base("debian:12-slim", options.folder, options)
    asked_for = query_packages(image.root, "apt-mark showmanual") - query_packages(base, "apt-mark showmanual")
    checks.equal("the packages asked for are those of packages-run.txt", asked_for, set(packages_of("run")) - query_packages(
        base, "apt-mark showmanual"))
    linked = entry(image.root, ["ldd", BINARY], env={"PATH": PATH})
    checks.expect("every library of the binary is found", "not found" not in output_of(linked), run(linked).stdout)
    tools = [name for name in ("g++", "gcc", "cc", "make", "cmake", "ninja", "cargo", "git")
             if any((image.root / folder / name).exists() for folder in ("usr/bin", "usr/local/bin"))]
    checks.equal("nothing to build with is left", tools, [])
    programs = [str(path.relative_to(image.root)) for path in (image.root / "usr/local").rglob("*")
                if path.is_file() and path.suffix != ".crt"]
    checks.equal("of ours there is the binary", programs, [BINARY.lstrip("/")])


def check_first_commands(checks, image, volumes):
    version = run_once(image, volumes, ["--version"])
    checks.expect("--version", version.returncode == 0 and re.match(r"vitrine \d", version.stdout), version.stdout + version.stderr)
    refused = run_once(image, volumes, image.command)
    checks.expect("without a key it does not start, and says what to do (exit status 78)",
                  refused.returncode == 78 and "keys create" in refused.stderr, refused.stderr)
    made = run_once(image, volumes, ["keys", "create", "laptop"])
    key = re.search(r"\S{40,}", made.stdout)
    checks.expect("keys create laptop", made.returncode == 0 and key, made.stderr)
    return key[0] if key else ""


def others_may(folder):
    """Files and folders below it that anyone but the owner may read or write, or that are not the owner's."""
    return [f"{path.name} {path.stat().st_mode:o} {path.stat().st_uid}" for path in [folder, *folder.rglob("*")]
            if path.stat().st_mode & 0o077 or path.stat().st_uid != folder.stat().st_uid]


def check_answers(checks, key):
    checks.equal("a chat without a key is refused", client.chat(None)[0], 401)
    checks.equal("one with a wrong key too", client.chat(key[:-1] + "x")[0], 401)
    status, body = client.chat(key)
    text = json.loads(body)["choices"][0]["message"]["content"] if status == 200 else body
    checks.expect("one with the key is answered", status == 200 and text, body)


def start(checks, image, volumes, log):
    server = Container(image, volumes, log)
    checks.expect("CMD: it is healthy", client.wait_for_health(), log.read_text(encoding="utf-8", errors="replace"))
    return server


def check_process(checks, server):
    text = output_of(["cat", f"/proc/{server.first}/status"])
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    checks.equal("it runs as the image's user", fields["Uid"].split(), ["10001"] * 4)
    checks.equal("it is the first process", fields["NSpid"].split()[-1], "1")
    checks.expect("HEALTHCHECK says yes", server.is_healthy(), server.execute(server.image.health_command).stderr)


def log_lines(log):
    """The lines that are no JSON, and the events of the others."""
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    events = [json.loads(line)["event"] for line in lines if line.startswith("{")]
    return [line for line in lines if not line.startswith("{")], events


def check_stop(checks, image, server, key):
    stream = client.Stream(key, SHORT_STREAM)
    stream.wait_for_first_event()
    status, seconds = server.stop()
    checks.expect("SIGTERM lets a stream end", stream.wait() and stream.is_whole(), stream.said())
    checks.equal(f"and the server after it ({seconds:.1f} s)", status, 0)
    health = run_once_as_health_check(image)
    checks.expect("HEALTHCHECK says no when it is stopped", health.returncode != 0, health.stdout)
    plain, events = log_lines(server.log)
    checks.expect("the log is JSON, from start to stop", not plain and events[:1] == ["start"] and events[-1:] == ["stop"],
                  server.log.read_text(encoding="utf-8"))


def run_once_as_health_check(image):
    uid, gid = image.ids()
    return run(entry(image.root, image.health_command, env=image.environment(), uid=uid, gid=gid, shut=True))


def check_long_stream(checks, image, volumes, key, log):
    server = start(checks, image, volumes, log)
    stream = client.Stream(key, LONG_STREAM)
    stream.wait_for_first_event()
    status, seconds = server.stop()
    checks.expect("a stream of minutes ends with an error", stream.wait() and stream.is_told_of_the_stop(), stream.said())
    checks.expect(f"within the time that --stop-timeout gives ({seconds:.1f} s)", status == 0 and seconds < 40, f"status {status}")


def check_usage(checks, asked):
    """`vitrine usage` has been run."""
    checks.expect("usage knows the key's requests", asked.returncode == 0 and "laptop" in asked.stdout, asked.stdout + asked.stderr)


def check_state(checks, image, volumes):
    state = volumes.path("/state")
    checks.equal("the state is the owner's alone", others_may(state), [])
    checks.expect("keys and usage lie there", {"keys.db", "keys.pepper", "usage.db"} <= {path.name for path in state.iterdir()},
                  list(state.iterdir()))
    check_usage(checks, run_once(image, volumes, ["usage"]))
    packed = list((volumes.path("/models") / "packed").glob("*"))
    checks.expect("repacked weights are kept for the next start", packed, "none in /models/packed")


def fetch_model(checks, image, options):
    """The volumes, with a model that the image itself fetched."""
    folder = options.folder / "volumes"
    shutil.rmtree(folder, ignore_errors=True)
    volumes = Volumes(image, folder)
    pulled = run_once(image, volumes, ["pull", options.model, "--yes"])
    checks.expect(f"pull {options.model}", pulled.returncode == 0, pulled.stderr)
    return volumes


def check_container(checks, image, volumes, options):
    check_contents(checks, image, options)
    key = check_first_commands(checks, image, volumes)
    server = start(checks, image, volumes, options.folder / "container-1.log")
    check_process(checks, server)
    check_answers(checks, key)
    checks.equal("from another address as well", client.chat(key, ADDRESS)[0], 200)
    check_stop(checks, image, server, key)
    check_long_stream(checks, image, volumes, key, options.folder / "container-2.log")
    check_state(checks, image, volumes)
