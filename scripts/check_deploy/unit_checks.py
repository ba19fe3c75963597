"""What must hold of deploy/vitrine.service where the commands of docs/operations.md installed it."""
import json
import re
import time

import client
from common import ROOT, Refused, packages_of, wait_until
from container_checks import BINARY, LONG_STREAM, SHORT_STREAM, check_answers, check_usage, others_may
from machine import Machine, install_files, make_root
from roots import PATH, proxy_settings, run_step

BUILD = "./vitrine build && "
DROP_IN = "/etc/systemd/system/vitrine.service.d/check.conf"


def documented_commands():
    """Those of the page's block for systemd: (before systemd is asked for anything, from then on)."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    block = re.search(r"\*\*With systemd\*\*.*?```sh\n(.*?)```", text, re.DOTALL)
    lines = [line.removeprefix(BUILD) for line in block[1].splitlines()] if block else []
    first = next((number for number, line in enumerate(lines) if line.startswith("systemctl")), None)
    if first is None:
        raise Refused("docs/operations.md has no commands for systemd")
    return lines[:first], lines[first:]


def prepare_machine(image, options):
    """What needs the network: packages, and all commands up to the first of systemctl, one of which fetches the model."""
    root = make_root(options.folder, packages_of("run"), options)
    install_files(root, image.root / BINARY.lstrip("/"), options.folder / "context")
    env = {"PATH": PATH, "HOME": "/root", **proxy_settings()}
    run_step(root, ["/bin/sh", "-ec", "\n".join(documented_commands()[0])], options.folder / "machine-install.log", env=env, cwd="/src")
    return root


def start_as_documented(checks, machine):
    """The key that the last commands made."""
    key = None
    for line in documented_commands()[1]:
        done = machine.execute(line.replace(" -f ", " "))
        checks.expect(line.partition("#")[0].strip(), done.returncode == 0, done.stderr)
        found = re.search(r"^sk-\S{40,}$", done.stdout, re.MULTILINE)
        key = found[0] if found else key
    return key


def check_running(checks, machine):
    checks.expect("health says yes", client.wait_for_health(), machine.output_of("journalctl -u vitrine -o cat --no-pager"))
    checks.equal("the unit is active", machine.property_of("ActiveState"), "active")
    text = machine.output_of(f"cat /proc/{machine.property_of('MainPID')}/status")
    fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
    checks.equal("no capability is left", fields["CapBnd"], "0" * 16)
    checks.equal("system calls are filtered, and no right can be gained", (fields["Seccomp"], fields["NoNewPrivs"]), ("2", "1"))
    judged = machine.output_of("systemd-analyze security vitrine --no-pager")
    exposure = re.search(r"Overall exposure level for vitrine.service: (\S+)", judged)
    said = re.search(r"gives it (\S+) of 10", (ROOT / "docs/operations.md").read_text(encoding="utf-8"))
    checks.equal("systemd-analyze security gives what the page says", exposure and exposure[1], said and said[1])


def check_files(checks, root, machine):
    state, cache = root / "var/lib/vitrine", root / "var/cache/vitrine"
    checks.equal("modes of the two folders", (state.stat().st_mode & 0o777, cache.stat().st_mode & 0o777), (0o700, 0o750))
    checks.equal("the state is the user's alone", others_may(state), [])
    checks.equal("the owner is vitrine", machine.output_of("stat -c %U /var/lib/vitrine /var/cache/vitrine").split(), ["vitrine"] * 2)
    checks.expect("repacked weights are kept for the next start", wait_until(lambda: list((cache / "packed").glob("*")), 20),
                  list(cache.iterdir()))
    check_usage(checks, machine.execute("runuser -u vitrine -- env VITRINE_STATE=/var/lib/vitrine vitrine usage"))


def check_log(checks, machine):
    lines = machine.output_of("journalctl _SYSTEMD_UNIT=vitrine.service -o cat --no-pager").splitlines()
    plain = [line for line in lines if not line.startswith("{")]
    events = [json.loads(line)["event"] for line in lines if line.startswith("{")]
    checks.expect("the journal has JSON lines alone", events[:1] == ["start"] and "request" in events and not plain, "\n".join(plain))


def check_stop_and_restart(checks, machine, key):
    for command, wanted in (("stop", "inactive"), ("restart", "active")):
        machine.output_of("systemctl start vitrine")
        client.wait_for_health()
        stream = client.Stream(key, SHORT_STREAM)
        stream.wait_for_first_event()
        start = time.monotonic()
        machine.output_of(f"systemctl {command} vitrine")
        seconds = time.monotonic() - start
        checks.expect(f"systemctl {command} lets a stream end ({seconds:.1f} s)", stream.wait() and stream.is_whole(), stream.said())
        checks.equal("and the unit is then as it should be", (machine.property_of("ActiveState"), machine.property_of("Result")),
                     (wanted, "success"))


def check_long_stream(checks, machine, key):
    client.wait_for_health()
    stream = client.Stream(key, LONG_STREAM)
    stream.wait_for_first_event()
    start = time.monotonic()
    machine.output_of("systemctl stop vitrine")
    seconds = time.monotonic() - start
    checks.expect("a stream of minutes ends with an error", stream.wait() and stream.is_told_of_the_stop(), stream.said())
    checks.equal(f"without a kill ({seconds:.1f} s)", (machine.property_of("Result"), seconds < 40), ("success", True))


def check_fault(checks, machine):
    machine.output_of("systemctl start vitrine")
    client.wait_for_health()
    before = machine.property_of("MainPID")
    machine.output_of("systemctl kill --signal=KILL vitrine")
    checks.expect("after a kill it starts again", wait_until(
        lambda: machine.property_of("NRestarts") == "1" and machine.property_of("ActiveState") == "active", 30),
        machine.property_of("NRestarts"))
    checks.expect("and answers", client.wait_for_health() and machine.property_of("MainPID") != before)


def with_settings(machine, *lines):
    """Settings of [Service] that come after the unit's own."""
    text = "\\n".join(("[Service]", *lines, ""))
    machine.output_of(f"mkdir -p $(dirname {DROP_IN}); printf '{text}' > {DROP_IN}; systemctl daemon-reload")


def with_flags(machine, model, flags):
    with_settings(machine, "EnvironmentFile=", f'Environment="VITRINE_MODEL={model}" "VITRINE_FLAGS={flags}"')


def check_no_restart(checks, machine, model):
    """What stays wrong is tried once."""
    cases = (("a wrong flag", model, "--no-such-flag", "64"), ("a refused file", "/etc/passwd", "", "65"),
             ("a missing file", "/no/such.gguf", "", "66"), ("a missing model", "no-such-model", "", "66"),
             ("a setting that is wrong", model, "--config /src/LICENSE", "78"))
    for what, name, flags, status in cases:
        machine.execute("systemctl stop vitrine; systemctl reset-failed vitrine")
        with_flags(machine, name, flags)
        machine.execute("systemctl start vitrine")
        wait_until(lambda: machine.property_of("ActiveState") == "failed", 20)
        time.sleep(3)  # longer than RestartSec
        found = [machine.property_of(name) for name in ("ActiveState", "ExecMainStatus", "NRestarts")]
        checks.equal(f"{what} is tried once", found, ["failed", status, "0"])


def check_nothing_is_forbidden(checks, machine, key, model):
    """With every refused system call a death, the server lives: the filter keeps nothing from it, pinned threads included."""
    with_settings(machine, "SystemCallErrorNumber=kill", "EnvironmentFile=", f'Environment="VITRINE_MODEL={model}"'
                  ' "VITRINE_FLAGS=--threads 2 --pin-threads --log-format json"')
    machine.output_of("systemctl stop vitrine; rm -rf /var/cache/vitrine/packed; systemctl start vitrine")
    checks.expect("with pinned threads, no repacked weights and refused calls deadly: health says yes", client.wait_for_health())
    stream = client.Stream(key, SHORT_STREAM)
    checks.expect("it streams", stream.wait() and stream.is_whole(), stream.said())
    status, body = client.chat(key)
    checks.expect("it answers", status == 200, body)
    checks.expect("it repacks", wait_until(lambda: machine.execute("ls /var/cache/vitrine/packed/*").returncode == 0, 20))
    machine.output_of("systemctl stop vitrine")
    checks.equal("it stops", (machine.property_of("Result"), machine.property_of("NRestarts")), ("success", "0"))
    machine.output_of(f"rm {DROP_IN}; systemctl daemon-reload")


def check_unit(checks, root, options):
    log = options.folder / "machine.log"
    log.write_bytes(b"")
    machine = Machine(root, log)
    try:
        key = start_as_documented(checks, machine)
        check_running(checks, machine)
        check_answers(checks, key)
        check_files(checks, root, machine)
        check_stop_and_restart(checks, machine, key)
        check_log(checks, machine)
        check_long_stream(checks, machine, key)
        check_fault(checks, machine)
        check_nothing_is_forbidden(checks, machine, key, options.model)
        check_no_restart(checks, machine, options.model)
        with_settings(machine)
    finally:
        machine.stop()
    machine = Machine(root, log)
    checks.expect("it starts with the machine", client.wait_for_health(), log.read_text(errors="replace"))
    machine.stop()
