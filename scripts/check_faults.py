#!/usr/bin/env python3
"""Fails on every test that docs/faults.md names and the sources of the tests do not hold.

A test stands there in backquotes: `Suite.Name` of a C++ test, `file.py::test_name` or `file.mjs: words of its title`.
Usage: check_faults.py [--root DIR]
"""
import argparse
import pathlib
import re
import sys

LEDGER = "docs/faults.md"
CPP_TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
ROW = re.compile(r"^\| *(?:[BDE] )?(\d+) *\|(?P<cells>.*)\|\s*$", re.MULTILINE)
QUOTED = re.compile(r"`([^`]+)`")


def cpp_tests(folder):
    """{Suite.Name} of every C++ test."""
    return {f"{suite}.{name}" for path in sorted(folder.rglob("*_test.cpp"))
            for suite, name in CPP_TEST.findall(path.read_text())}


def exists(name, root, tests):
    if (python := re.fullmatch(r"(\w+\.py)::(\w+)", name)) is not None:
        return any(f"def {python[2]}(" in path.read_text() for path in (root / "tests").rglob(python[1]))
    if (script := re.fullmatch(r"([\w.]+\.mjs): (.+)", name)) is not None:
        return any(script[2] in path.read_text() for path in (root / "tests").rglob(script[1]))
    return name in tests


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    tests = cpp_tests(root / "tests")
    rows = list(ROW.finditer((root / LEDGER).read_text()))
    problems = []
    num_names = 0
    for row in rows:
        names = QUOTED.findall(row["cells"].rpartition("|")[2])
        num_names += len(names)
        if not names:
            problems.append(f"row {row[1]} names no test")
        problems += [f"row {row[1]}: there is no test {name}" for name in names if not exists(name, root, tests)]
    for problem in problems:
        print(f"{LEDGER}: {problem}", file=sys.stderr)
    print(f"faults: {len(rows)} rows, {num_names} tests named, {len(problems)} problems")
    return 1 if problems or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
