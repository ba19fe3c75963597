#!/usr/bin/env python3
"""Fails on things that do not belong into the repository: paths of one machine, large files, merge marks, odd names.

Usage: check_hygiene.py [--root DIR]
"""
import argparse
import pathlib
import re
import subprocess
import sys

MAX_FILE_BYTES = 400_000
MAX_TEST_DATA_BYTES = 32 * 1024 * 1024
TEST_DATA = "tests/data/"
GENERATED = re.compile(r"(^|/)(Cargo\.lock|package-lock\.json)$")
# Home folders, and the folder of this very checkout, say where somebody worked.
HOME_PATH = re.compile(rb"(?<![\w.$}/])/(?:home|Users)/[A-Za-z0-9_.-]+/|(?<![\w.$}/])/root/")
MERGE_MARK = re.compile(rb"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)


def tracked_files(root):
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True).stdout
    return [name.decode() for name in names.split(b"\0") if name]


def problems_of(root, name):
    path = root / name
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    in_test_data = name.startswith(TEST_DATA)
    if len(content) > MAX_FILE_BYTES and not in_test_data and not GENERATED.search(name):
        yield f"{name}: {len(content)} bytes, more than {MAX_FILE_BYTES} (only {TEST_DATA} may hold more)"
    if in_test_data or name == "scripts/check_hygiene.py":
        return
    if str(root).encode() + b"/" in content:
        yield f"{name}: names the folder of this checkout, {root}/"
    home = HOME_PATH.search(content)
    if home:
        yield f"{name}: names a path of one machine, {home.group().decode()}"
    if MERGE_MARK.search(content):
        yield f"{name}: holds a merge mark"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    names = tracked_files(root)
    problems = [problem for name in names for problem in problems_of(root, name)]
    test_data_bytes = sum((root / name).stat().st_size for name in names
                          if name.startswith(TEST_DATA) and (root / name).is_file())
    if test_data_bytes > MAX_TEST_DATA_BYTES:
        problems.append(f"{TEST_DATA}: {test_data_bytes} bytes in all, more than {MAX_TEST_DATA_BYTES}")
    for problem in problems:
        print(problem)
    print(f"hygiene: {len(names)} tracked files, {test_data_bytes} bytes of test data, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
