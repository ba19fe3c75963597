#!/usr/bin/env python3
"""Measures Vitrine against other engines on this machine, alternating in one run: ./vitrine bench peers

llama.cpp is built from the source package of llama-cpp-python, pinned by version and SHA-256, with clang and this
machine's own instructions; OpenVINO GenAI, tiktoken and tokenizers are installed in a virtual environment, pinned
likewise. All read the same model file with the same numbers of tokens. A peer gets the flags that are best for it here
(flash attention on or off, each number of threads), found before the first pair is counted. The read bandwidth is
measured before, between and after the two of each pair: where it moved by more than 15 %, the machine was doing
something else, and the pair is not counted.

Written to the folder given by --out: peers.json (every run), peers.md (a table), peers.svg (a plot).
"""
import argparse
import json
import os
import pathlib
import shutil
import sys

import llama_cpp
import pairs
import python_packages
import quality
import report
import tokenizing
from cases import MODEL_CASES
from common import ROOT, Refused, VITRINE, output_of, say
from openvino_engine import OpenVinoGenAi
from vitrine_engine import VitrineEngine

MODELS = ("smollm2-135m-instruct", "gemma-3-270m")
PEERS = ("llama.cpp", "openvino")
OTHER_CASES = ("tokenize", "quality")


def model_file(name):
    """The file behind a catalog name, fetched where it is missing."""
    if pathlib.Path(name).exists():
        return pathlib.Path(name)
    output_of([VITRINE, "pull", name, "--yes", "--quiet"])
    for row in json.loads(output_of([VITRINE, "list", "--json"]))["models"]:
        if row["name"] == name:
            path = pathlib.Path(row["path"])
            return path if path.is_file() else next(path.glob("*.gguf"))
    raise Refused(f"{name}: no such file, and no model of that name")


def parse_arguments():
    names = [case.name for case in MODEL_CASES] + list(OTHER_CASES)
    parser = argparse.ArgumentParser(prog="./vitrine bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", help="a GGUF file or a catalog name (default: both small catalog models)")
    parser.add_argument("--case", action="append", choices=names, metavar="CASE", help=f"one of: {', '.join(names)} (default: all)")
    parser.add_argument("--peer", action="append", choices=PEERS, help="of models' cases (default: both)")
    parser.add_argument("--text", action="append", type=pathlib.Path,
                        help="a text file to tokenize, named after its content (default: those in build/corpus)")
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs of runs for each case")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/peers", help="where the peers are built")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/peers/results")
    parser.add_argument("--json", action="store_true", help="print the JSON in place of the table")
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.case = options.case or names
    return options


def wanted_peers(options):
    peers = []
    if "llama.cpp" in (options.peer or PEERS):
        peers.append(llama_cpp.LlamaCpp(llama_cpp.build(options.build)))
    if "openvino" in (options.peer or PEERS):
        peers.append(OpenVinoGenAi(python_packages.install(options.build / "python"), options.build / "openvino"))
    return peers


class Comparison:
    """The report as it grows; it is written after each case, so that an interrupted run leaves what it has."""

    def __init__(self, options):
        self.options = options
        machine = json.loads(output_of([VITRINE, "bench", "machine", "--size", pairs.BANDWIDTH_MIB, "--json"]))
        self.report = {"machine": machine, "peers": {}, "rows": []}

    def add(self, rows):
        self.report["rows"] += rows
        report.write(self.report, self.options.out)

    def measure_models(self, cases, peers):
        self.report["peers"] |= {peer.name: peer.version for peer in peers}
        for name in self.options.model or MODELS:
            model = model_file(name)
            for case in cases:
                for peer in peers:
                    if not peer.supports(case):
                        continue
                    say(f"peers: {model.stem}, {case.name}, {peer.name}")
                    rows = pairs.compare(case, model, VitrineEngine(), peer, self.options)
                    self.add([{"model": model.stem, **row} for row in rows])

    def measure_quality(self):
        programs = llama_cpp.build(self.options.build)
        for name in self.options.model or MODELS:
            model = model_file(name)
            rows, details = quality.measure(model, programs, self.options.threads, self.options.build)
            self.report.setdefault("quality", {})[model.stem] = details
            self.add([{"model": model.stem, **row} for row in rows])

    def measure_tokenizers(self):
        say("peers: tokenize")
        python = python_packages.install(self.options.build / "python")
        self.report["peers"] |= {name: python_packages.version_of(name) for name in ("tiktoken", "tokenizers")}
        self.add(tokenizing.measure(self.options, python))


def run(options):
    comparison = Comparison(options)
    cases = [case for case in MODEL_CASES if case.name in options.case]
    if cases:
        comparison.measure_models(cases, wanted_peers(options))
    if "quality" in options.case:
        comparison.measure_quality()
    if "tokenize" in options.case:
        comparison.measure_tokenizers()
    print(json.dumps(comparison.report, indent=1) if options.json else report.table(comparison.report), end="")
    say(f"peers: written to {options.out}")


def main():
    options = parse_arguments()
    for tool in ("cmake", "ninja", "clang-16"):
        if shutil.which(tool) is None:
            sys.exit(f"peers: {tool} is missing")
    try:
        run(options)
    except Refused as refusal:
        sys.exit(f"peers: {refusal}")


if __name__ == "__main__":
    main()
