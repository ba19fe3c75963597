#!/usr/bin/env python3
"""Runs clang-tidy over the project's translation units; a unit that passed is not run again until something it reads changes.

Usage: lint.py --build-dir DIR [--jobs N] [FILES...]   (without FILES: all of src)
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
import subprocess
import sys
import threading
import time

TOOL = "clang-tidy-16"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
# Tests are heavy with headers: linting them would double the time of a whole run.
LINTED = ("src/", "apps/")
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


def unit_key(entry, headers, settings):
    """What decides the outcome for a unit, as one hash."""
    key = hashlib.sha256(settings)
    key.update(entry.get("command", "").encode())
    for path in headers.closure(pathlib.Path(entry["file"])):
        key.update(f"{path}\0{headers.read(path)[0]}\n".encode())
    return key.hexdigest()


def run_tidy(entry, commands_dir):
    extra = [f"--extra-arg={option}" for option in kernel_options(entry["file"])]
    # -Wno-error and no diagnostics of the compiler's own: g++ decides about warnings, and its options differ.
    command = [TOOL, "--quiet", "-p", str(commands_dir), "--extra-arg=-Wno-error", "--extra-arg=-Wno-everything", *extra, entry["file"]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    noise = re.compile(r"^\d+ warnings?( and \d+ errors?)? generated\.$|^Suppressed |^Use -header-filter", re.MULTILINE)
    return done.returncode, done.stdout + "\n".join(line for line in done.stderr.splitlines() if not noise.match(line))


# g++'s precompiled headers mean nothing to clang, and without them a unit must name all that it includes.
PRECOMPILED = re.compile(r" (-Winvalid-pch|-fpch-preprocess|-include \S+/cmake_pch\.hxx)(?= )")


def read_commands(build_dir, cache):
    """The build's compile commands without precompiled headers, also written to `cache` for clang-tidy."""
    entries = json.loads((build_dir / "compile_commands.json").read_text(encoding="utf-8"))
    for entry in entries:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
    (cache / "compile_commands.json").write_text(json.dumps(entries, indent=1), encoding="utf-8")
    return entries


def read_units(commands, root, wanted):
    entries = {}
    for entry in commands:
        file = os.path.relpath(entry["file"], root)
        if file not in UNKNOWN_TO_CLANG and (file in wanted if wanted else file.startswith(LINTED)):
            entries.setdefault(file, entry)
    return dict(sorted(entries.items()))


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
    units = read_units(read_commands(options.build_dir, cache), root, set(options.files))
    keys = {file: unit_key(entry, headers, settings) for file, entry in units.items()}
    stale = [file for file in units if not (cache / keys[file]).exists()]
    start, num_done, failed = time.monotonic(), 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(run_tidy, units[file], cache): file for file in stale}
        for job in concurrent.futures.as_completed(jobs):
            file, (status, output) = jobs[job], job.result()
            num_done += 1
            if status == 0:
                (cache / keys[file]).touch()
            else:
                failed.append(file)
                print(output, flush=True)
            print(f"[{num_done}/{len(stale)}] {file}", flush=True)
    print(f"lint: {len(units)} units, {len(stale)} checked, {len(units) - len(stale)} unchanged, "
          f"{len(failed)} with findings, {time.monotonic() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
