#!/usr/bin/env python3
"""Runs every test of a build and sums up: C++ test binaries, corpus replays, Rust tests, Python tests, finished checks.

The last line is always of the form "N passed, N failed, N skipped". Exit status 1 when anything failed.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

OUTPUT_TAIL_CHARS = 6000


@dataclasses.dataclass
class Outcome:
    """What one binary (or check, or foreign test runner) gave."""
    name: str
    passed: int = 0
    seconds: float = 0.0
    failures: list = dataclasses.field(default_factory=list)  # (case, message)
    skipped: list = dataclasses.field(default_factory=list)  # (case, reason)

    def line(self):
        text = f"{self.passed} passed"
        if self.failures:
            text += f", {len(self.failures)} failed"
        if self.skipped:
            text += f", {len(self.skipped)} skipped"
        mark = "FAIL" if self.failures else "ok"
        return f"  {mark:4} {self.name:28} {text:34} {self.seconds:7.1f} s"


def tail(text):
    return text if len(text) <= OUTPUT_TAIL_CHARS else "...\n" + text[-OUTPUT_TAIL_CHARS:]


def run_command(command, timeout, env=None, cwd=None):
    """(exit status or None after a timeout, output, seconds)"""
    start = time.monotonic()
    try:
        done = subprocess.run(command, env=env, cwd=cwd, timeout=timeout, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        return done.returncode, done.stdout, time.monotonic() - start
    except FileNotFoundError as missing:
        return 127, f"{missing.filename} does not exist", 0.0
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace") if isinstance(expired.stdout, bytes) else expired.stdout
        return None, output or "", time.monotonic() - start


def describe_exit(status, timeout):
    if status is None:
        return f"ran into the time limit of {timeout} s"
    if status < 0:
        return f"died from {signal.Signals(-status).name}"
    return f"exit status {status}"


# ---- C++ tests: what ctest knows, run directly ----

@dataclasses.dataclass
class CTest:
    name: str
    command: list
    serial: bool
    cwd: str

    @property
    def is_gtest(self):
        return pathlib.Path(self.command[0]).name.endswith("_test")


def list_ctests(build_dir):
    shown = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build_dir, check=True, capture_output=True, text=True)
    for test in json.loads(shown.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield CTest(test["name"], test.get("command", [test["name"]]), bool(properties.get("RUN_SERIAL")),
                    properties.get("WORKING_DIRECTORY", str(build_dir)))


def read_gtest_report(outcome, report):
    for suite in report.get("testsuites", []):
        for case in suite["testsuite"]:
            name = f"{suite['name']}.{case['name']}"
            if case.get("failures"):
                outcome.failures.append((name, "\n".join(f["failure"] for f in case["failures"])))
            elif case.get("result") == "SKIPPED":
                reason = "\n".join(s.get("message", "") for s in case.get("skipped", []))
                outcome.skipped.append((name, reason or "skipped"))
            elif case.get("status") == "NOTRUN":
                outcome.skipped.append((name, "disabled"))
            else:
                outcome.passed += 1


def skip_reason_from(output, case):
    """GoogleTest 1.12 does not write the reason of a skip into its report; it stands in the output above the mark."""
    lines = output.splitlines()
    for index, line in enumerate(lines):
        if line.startswith("[  SKIPPED ] " + case) and index > 0:
            return lines[index - 1].strip()
    return "skipped"


def run_gtest(test, options, env):
    outcome = Outcome(test.name)
    with tempfile.TemporaryDirectory() as folder:
        report_file = pathlib.Path(folder) / "report.json"
        command = test.command + [f"--gtest_output=json:{report_file}"]
        if options.gtest_filter:
            command.append(f"--gtest_filter=*{options.gtest_filter}*")
        status, output, outcome.seconds = run_command(command, options.timeout, env, test.cwd)
        if report_file.exists():
            read_gtest_report(outcome, json.loads(report_file.read_text(encoding="utf-8")))
    outcome.skipped = [(case, skip_reason_from(output, case) if reason == "skipped" else reason)
                       for case, reason in outcome.skipped]
    if status != 0 and not outcome.failures:
        started = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
        where = f" in {started[-1]}" if started else ""
        outcome.failures.append((test.name, f"{describe_exit(status, options.timeout)}{where}\n{tail(output)}"))
    return outcome


def run_plain(test, options, env):
    status, output, seconds = run_command(test.command, options.timeout, env, test.cwd)
    outcome = Outcome(test.name, seconds=seconds)
    if status == 0:
        outcome.passed = 1
    else:
        outcome.failures.append((test.name, f"{describe_exit(status, options.timeout)}\n{tail(output)}"))
    return outcome


def run_ctest(test, options, env):
    return run_gtest(test, options, env) if test.is_gtest else run_plain(test, options, env)


def run_all_ctests(options, env, show):
    tests = list(list_ctests(options.build_dir))
    if options.filter:
        named = [test for test in tests if options.filter in test.name]
        if named:
            tests = named
        else:  # no binary of that name: take it as part of a case's name
            options.gtest_filter = options.filter
            tests = [test for test in tests if test.is_gtest]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(run_ctest, test, options, env) for test in tests if not test.serial]
        for future in concurrent.futures.as_completed(futures):
            show(future.result())
    for test in tests:
        if test.serial:
            show(run_ctest(test, options, env))


# ---- tests of other runners ----

def run_cargo(folder, options, env):
    command = ["cargo", "test", "--locked", "--manifest-path", str(folder / "Cargo.toml")]
    command += ["--target-dir", str(options.build_dir / "cargo-test")]
    status, output, seconds = run_command(command, options.timeout * 2, env)
    outcome = Outcome(f"{folder.name} (cargo)", seconds=seconds)
    for passed, ignored in re.findall(r"^test result: .*? (\d+) passed; \d+ failed; (\d+) ignored", output, re.MULTILINE):
        outcome.passed += int(passed)
        outcome.skipped += [("cargo", "ignored")] * int(ignored)
    for case in re.findall(r"^test (\S+) \.\.\. FAILED", output, re.MULTILINE):
        outcome.failures.append((case, tail(output)))
    if status != 0 and not outcome.failures:
        outcome.failures.append(("cargo test", f"{describe_exit(status, options.timeout * 2)}\n{tail(output)}"))
    return outcome


def run_pytest(folder, options, env):
    """The packages of the folder's requirements.txt must lie in PYTHONPATH, or the tests count as skipped."""
    outcome = Outcome(f"{folder.name} (pytest)")
    status, output, _ = run_command([sys.executable, "-c", "import pytest, openai"], 60, env)
    if status != 0:
        outcome.skipped.append(("all", output.strip().splitlines()[-1]))
        return outcome
    with tempfile.TemporaryDirectory() as temporary:
        report = pathlib.Path(temporary) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", str(folder)]
        env = dict(env, VITRINE_BINARY=str(options.build_dir / "apps/vitrine/vitrine"), PYTHONDONTWRITEBYTECODE="1")
        status, output, outcome.seconds = run_command(command, options.timeout * 2, env)
        if report.exists():
            read_junit_report(outcome, report)
    if status != 0 and not outcome.failures:
        outcome.failures.append(("pytest", f"{describe_exit(status, options.timeout * 2)}\n{tail(output)}"))
    return outcome


TAP_LINE = re.compile(r"^\s*(not ok|ok) \d+ - (.*?)(?: # SKIP ?(.*))?$")


def run_node(folder, options, env):
    """The tests of Node's own runner; what they need they say when they skip."""
    outcome = Outcome(f"{folder.name} (node)")
    files = sorted(str(file) for file in folder.glob("*.test.mjs"))
    env = dict(env, VITRINE_BINARY=str(options.build_dir / "apps/vitrine/vitrine"))
    status, output, outcome.seconds = run_command(["node", "--test", "--test-reporter=tap", *files], options.timeout, env)
    for line in output.splitlines():
        found = TAP_LINE.match(line)
        if not found or found[2].endswith(".mjs"):
            continue
        if found[3] is not None:
            outcome.skipped.append((found[2], found[3]))
        elif found[1] == "ok":
            outcome.passed += 1
        else:
            outcome.failures.append((found[2], tail(output)))
    if status != 0 and not outcome.failures:
        outcome.failures.append(("node --test", f"{describe_exit(status, options.timeout)}\n{tail(output)}"))
    return outcome


def read_junit_report(outcome, report):
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        bad = [child for child in case if child.tag in ("failure", "error")]
        skip = case.find("skipped")
        if bad:
            outcome.failures.append((name, tail("\n".join((child.text or child.get("message") or "") for child in bad))))
        elif skip is not None:
            outcome.skipped.append((name, skip.get("message", "skipped")))
        else:
            outcome.passed += 1


def read_checks(file):
    """Lines of "name<TAB>ok|failed<TAB>seconds", written by the caller for the steps before the tests."""
    for line in file.read_text(encoding="utf-8").splitlines():
        name, result, seconds = line.split("\t")
        outcome = Outcome(name, seconds=float(seconds))
        if result == "ok":
            outcome.passed = 1
        else:
            outcome.failures.append((name, "failed, see its output above"))
        yield outcome


# ---- what the tests counted of their data ----

def print_data_table(counts_file):
    ran, skipped, reasons = collections.Counter(), collections.Counter(), {}
    for line in counts_file.read_text(encoding="utf-8").splitlines():
        kind_of_line, kind, count, *reason = line.split("\t")
        (ran if kind_of_line == "ran" else skipped)[kind] += int(count)
        if reason:
            reasons[kind] = reason[0]
    if not ran and not skipped:
        return
    print("\nCases of test data:")
    print(f"  {'kind':36} {'ran':>9} {'skipped':>9}  reason")
    for kind in sorted(set(ran) | set(skipped)):
        print(f"  {kind:36} {ran[kind]:9} {skipped[kind]:9}  {reasons.get(kind, '')}".rstrip())


def print_details(outcomes):
    skips = [(outcome.name, *skip) for outcome in outcomes for skip in outcome.skipped]
    if skips:
        print("\nSkipped:")
        for name, case, reason in skips:
            print(f"  {name}: {case}: {' '.join(reason.split())[:200]}")
    for outcome in outcomes:
        for case, message in outcome.failures:
            print(f"\nFAILED {outcome.name}: {case}\n{message}")


def environment(counts_file):
    env = dict(os.environ, VITRINE_TEST_COUNTS=str(counts_file), GTEST_COLOR="no")
    env.setdefault("ASAN_OPTIONS", "detect_stack_use_after_return=1:strict_string_checks=1")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=1")
    return env


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--filter", help="part of a test binary's name, else part of a case's name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one test binary")
    parser.add_argument("--cargo", type=pathlib.Path, help="folder of a crate to test as well")
    parser.add_argument("--pytest", type=pathlib.Path, action="append", default=[],
                        help="folder of Python tests to run as well; may be repeated")
    parser.add_argument("--node", type=pathlib.Path, help="folder of Node tests to run as well")
    parser.add_argument("--checks", type=pathlib.Path, help="results of earlier checks to include in the sums")
    parser.add_argument("--seconds-before", type=float, default=0, help="what the steps before this one took")
    options = parser.parse_args()
    options.build_dir = options.build_dir.resolve()
    options.gtest_filter = None
    return options


def main():
    options = parse_arguments()
    start = time.monotonic()
    outcomes = []

    def show(outcome):
        outcomes.append(outcome)
        print(outcome.line(), flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        counts_file = pathlib.Path(temporary) / "counts"
        counts_file.touch()
        env = environment(counts_file)
        run_all_ctests(options, env, show)
        if options.cargo and (options.cargo / "Cargo.toml").exists():
            show(run_cargo(options.cargo, options, env))
        for folder in options.pytest:
            show(run_pytest(folder, options, env))
        if options.node:
            show(run_node(options.node, options, env))
        if options.checks and options.checks.exists():
            for outcome in read_checks(options.checks):
                show(outcome)
        print_data_table(counts_file)
    print_details(outcomes)
    num_passed = sum(outcome.passed for outcome in outcomes)
    num_failed = sum(len(outcome.failures) for outcome in outcomes)
    num_skipped = sum(len(outcome.skipped) for outcome in outcomes)
    if num_passed + num_failed == 0:
        print("no test matches" if options.filter else "no test found")
        num_failed = 1
    tests_seconds = time.monotonic() - start
    print(f"\ntests {tests_seconds:.0f} s, with all steps before them {tests_seconds + options.seconds_before:.0f} s")
    print(f"{num_passed} passed, {num_failed} failed, {num_skipped} skipped")
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
