#!/usr/bin/env python3
"""Runs clang-tidy over the project's translation units; a unit that passed is not run again until something it reads changes.

Usage: lint.py --build-dir DIR [--jobs N] [FILES...]   (without FILES: all that is linted)
Nearly all of clang-tidy's time goes into the headers that units have in common, so units with the same compile options
are checked several at a time, as one unit that includes them. Where such a batch does not parse (two files give the same
name to something of their own), the files in which the errors lie are checked apart from the others.
The memory of passed units lies in DIR/lint, one empty file per hash of the unit, the project headers that it includes,
the .clang-tidy files, its compile command and the tool's version.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import threading
import time

TOOL = "clang-tidy-16"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LINTED = ("src/", "apps/", "bench/", "tests/")
# clang 16 does not know the CPU features that this file asks for, so it cannot parse it.
UNKNOWN_TO_CLANG = ("src/backends/cpu/isa.cpp",)
# clang does not know g++'s target pragmas, which the kernel files use; the same instruction sets as options.
KERNEL_OPTIONS = {
    "kernels/avx2": ["-mavx2", "-mfma", "-mf16c"],
    "kernels/avx512": ["-march=sapphirerapids"],
    "kernels/amx": ["-march=sapphirerapids"],
}


class Headers:
    """The project headers that a file includes, with those that they include; each file is read once."""

    def __init__(self, root):
        self.search = [root / "src", root / "tests", root]
        self.direct = {}
        self.lock = threading.Lock()

    def resolve(self, name, includer):
        for folder in [includer.parent, *self.search]:
            path = folder / name
            if path.is_file():
                return path.resolve()
        return None

    def read(self, path):
        """(digest of the content, headers it includes)"""
        with self.lock:
            if path not in self.direct:
                content = path.read_bytes()
                found = [self.resolve(name.decode(), path) for name in INCLUDE.findall(content)]
                self.direct[path] = (hashlib.sha256(content).hexdigest(), [header for header in found if header])
            return self.direct[path]

    def closure(self, path):
        seen, todo = set(), [path]
        while todo:
            current = todo.pop()
            if current not in seen:
                seen.add(current)
                todo += self.read(current)[1]
        return sorted(seen)


def kernel_options(path):
    return [option for part, options in KERNEL_OPTIONS.items() if part in path for option in options]


def unit_key(file, options, headers, settings):
    """What decides the outcome for a unit, as one hash."""
    key = hashlib.sha256(settings)
    key.update("\0".join(options).encode())
    for path in headers.closure(file):
        key.update(f"{path}\0{headers.read(path)[0]}\n".encode())
    return key.hexdigest()


# What differs between compile commands of units that may share a batch: the compiler's path, the file and the object.
COMMAND = re.compile(r"^.*?[cg]\+\+\S* (?P<options>.*) -o \S+ -c \S+$")
BATCH_SIZE = 16
PARSE_ERROR = re.compile(r"^(/\S+?):\d+:\d+: error: .*\[clang-diagnostic-error\]$", re.MULTILINE)
NOISE = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated\.$|^Suppressed |^Use -header-filter", re.MULTILINE)


class Batch:
    """Files of units with the same options, one translation unit to clang-tidy."""

    def __init__(self, tidy_options, compile_options, files):
        self.tidy_options, self.compile_options, self.files = tidy_options, compile_options, files

    def source(self, cache):
        if len(self.files) == 1:
            return self.files[0]
        text = "".join(f'#include "{file}"\n' for file in self.files)
        path = cache / f"batch-{hashlib.sha256(text.encode()).hexdigest()[:16]}.cpp"
        path.write_text(text, encoding="utf-8")
        return path

    def split(self, output):
        """Two batches: the files without parse errors, and those with."""
        faulty = set(PARSE_ERROR.findall(output))
        bad = [file for file in self.files if file in faulty] or self.files[::2]
        if len(bad) == len(self.files):
            bad = self.files[::2]
        good = [file for file in self.files if file not in bad]
        return [Batch(self.tidy_options, self.compile_options, part) for part in (good, bad)]

    def check(self, cache):
        # -Wno-error and no diagnostics of the compiler's own: g++ decides about warnings, and its options differ.
        command = [TOOL, "--quiet", *self.tidy_options, str(self.source(cache)), "--", *self.compile_options,
                   "-Wno-error", "-Wno-everything"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
        return done.returncode, done.stdout + "\n".join(line for line in done.stderr.splitlines() if not NOISE.match(line))


def tidy_options(root, folder):
    """The .clang-tidy files by name: clang-tidy would look for them where the batch lies."""
    options = [f"--config-file={root / '.clang-tidy'}"]
    own = root / folder / ".clang-tidy"
    if own.exists():
        options.append("--checks=" + "".join(own.read_text(encoding="utf-8").split("Checks: >")[1].split()))
    return options


def make_batches(units, root):
    """`units`: file, relative to the repository's root -> compile options."""
    groups = {}
    for file, options in units.items():
        folder = next(folder for folder in LINTED if file.startswith(folder))
        alone = file if file.startswith("tests/fuzz/") else ""  # each of these defines the same function
        groups.setdefault((alone, folder, *options), []).append(str(root / file))
    for (_, folder, *options), files in groups.items():
        num_batches = -(-len(files) // BATCH_SIZE)
        for i in range(num_batches):
            part = files[i * len(files) // num_batches : (i + 1) * len(files) // num_batches]
            yield Batch(tidy_options(root, folder), options, part)


def check_all(batches, jobs, cache, report):
    """Calls `report(files, passed, output)` for each batch that parses, and for each file that does not."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(batch.check, cache): batch for batch in batches}
        while running:
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for job in done:
                batch, (status, output) = running.pop(job), job.result()
                if len(batch.files) > 1 and "[clang-diagnostic-error]" in output:
                    running.update({pool.submit(part.check, cache): part for part in batch.split(output)})
                else:
                    report(batch.files, status == 0, output)


# g++'s precompiled headers mean nothing to clang, and without them a unit must name all that it includes.
PRECOMPILED = re.compile(r" (-Winvalid-pch|-fpch-preprocess|-include \S+/cmake_pch\.hxx)(?= )")
UNITY_INCLUDE = re.compile(r'^#include "(\S+)"$', re.MULTILINE)


def read_commands(build_dir):
    """Source file -> its compile options in the build. The files of a unity build are those of their unit."""
    commands = {}
    for entry in json.loads((build_dir / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if path.suffix not in (".cpp", ".cxx"):
            continue
        options = COMMAND.match(PRECOMPILED.sub("", entry["command"]))["options"]
        files = UNITY_INCLUDE.findall(path.read_text(encoding="utf-8")) if path.parent.name == "Unity" else [entry["file"]]
        for file in files:
            commands.setdefault(file, options)
    return commands


def read_units(commands, root, wanted):
    """The files to lint, relative to `root`, with their compile options."""
    units = {}
    for path, options in commands.items():
        file = os.path.relpath(path, root)
        if file not in UNKNOWN_TO_CLANG and (file in wanted if wanted else file.startswith(LINTED)):
            units[file] = shlex.split(options) + kernel_options(file)
    return dict(sorted(units.items()))


def settings_digest(root):
    version = subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout
    parts = [version, json.dumps(KERNEL_OPTIONS).encode()]
    parts += [path.read_bytes() for path in (root / ".clang-tidy", root / "tests" / ".clang-tidy") if path.exists()]
    return b"\0".join(parts)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("files", nargs="*", help="files relative to the repository's root")
    return parser.parse_args()


def main():
    options = parse_arguments()
    root = pathlib.Path(__file__).resolve().parent.parent
    cache = options.build_dir / "lint"
    cache.mkdir(exist_ok=True)
    headers, settings = Headers(root), settings_digest(root)
    units = read_units(read_commands(options.build_dir), root, set(options.files))
    keys = {file: unit_key(root / file, options, headers, settings) for file, options in units.items()}
    stale = {file: options for file, options in units.items() if not (cache / keys[file]).exists()}
    start, num_done, failed = time.monotonic(), 0, []

    def report(files, passed, output):
        nonlocal num_done
        if not passed:
            print(output, flush=True)
        for file in (os.path.relpath(file, root) for file in files):
            num_done += 1
            if passed:
                (cache / keys[file]).touch()
            else:
                failed.append(file)
            print(f"[{num_done}/{len(stale)}] {file}", flush=True)

    check_all(make_batches(stale, root), options.jobs, cache, report)
    print(f"lint: {len(units)} units, {len(stale)} checked, {len(units) - len(stale)} unchanged, "
          f"{len(failed)} in batches with findings, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
