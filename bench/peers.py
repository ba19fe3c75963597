#!/usr/bin/env python3
"""Measures Vitrine against llama.cpp on this machine, alternating in one run: ./vitrine bench peers

llama.cpp is built from the source package of llama-cpp-python, pinned by version and SHA-256, with clang and this
machine's own instructions. Both read the same model file with the same numbers of tokens. The peer gets the flags that
are best for it here (flash attention on or off, each number of threads), found before the first pair is counted.
The read bandwidth is measured before, between and after the two of each pair: where it moved by more than 15 %, the
machine was doing something else, and the pair is not counted.

Written to the folder given by --out: peers.json (every run), peers.md (a table), peers.svg (a plot).
"""
import argparse
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VITRINE = ROOT / "build/release/apps/vitrine/vitrine"
PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
PROGRAMS = ("llama-bench", "llama-batched-bench", "llama-completion")
LARGEST_DRIFT = 1.15  # of the bandwidth within a pair
BANDWIDTH_MIB = 96
PROMPT = "Once upon a time, in a small house at the edge of a wide forest, there lived an old clockmaker who"


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured: prompt or generated tokens on top of `depth` tokens, in `batch` sequences at once."""

    name: str
    phase: str  # prefill, decode or start
    tokens: int
    depth: int = 0
    batch: int = 1
    kv_type: str = "f16"


CASES = (
    Case("prefill 512", "prefill", 512),
    Case("prefill 4096", "prefill", 4096),
    Case("decode", "decode", 128),
    Case("decode at 4096", "decode", 32, depth=4096),
    Case("16 sequences", "decode", 32, depth=512, batch=16),
    Case("32 sequences", "decode", 32, depth=512, batch=32),
    Case("32 sequences, q8_0 KV", "decode", 32, depth=512, batch=32, kv_type="q8_0"),
    Case("start to first token", "start", 1),
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def output_of(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"peers: {' '.join(str(word) for word in command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def seconds_of(command):
    start = time.monotonic()
    output_of(command)
    return time.monotonic() - start


def fetch_sources(folder):
    """The unpacked source package."""
    unpacked = folder / f"{PACKAGE.replace('-', '_')}-{VERSION}"
    if unpacked.exists():
        return unpacked
    folder.mkdir(parents=True, exist_ok=True)
    say(f"peers: fetching {PACKAGE} {VERSION}")
    output_of([sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", PACKAGE, "--dest", folder,
               f"{PACKAGE}=={VERSION}"])
    archive = next(folder.glob(f"*{VERSION}.tar.gz"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != SHA256:
        sys.exit(f"peers: {archive}: SHA-256 {digest}, expected {SHA256}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return unpacked


def build_llama_cpp(folder):
    """The folder with its programs."""
    programs = folder / "build/bin"
    if all((programs / name).exists() for name in PROGRAMS):
        return programs
    sources = fetch_sources(folder) / "vendor/llama.cpp"
    say("peers: building llama.cpp (10 minutes on two cores)")
    output_of(["cmake", "-S", sources, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
               "-DCMAKE_C_COMPILER=clang-16", "-DCMAKE_CXX_COMPILER=clang++-16", "-DGGML_NATIVE=ON",
               "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
               "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=OFF"])
    output_of(["ninja", "-C", folder / "build", *PROGRAMS])
    return programs


class Vitrine:
    """Figures of this checkout's binary."""

    name = "Vitrine"

    def variants(self, _case, max_threads):
        return [{"threads": max_threads}]

    def measure(self, case, model, flags):
        if case.phase == "start":
            return seconds_of([VITRINE, "run", model, PROMPT, "-n", "1", "--threads", flags["threads"], "--quiet"])
        prompt, generated = (case.tokens, 0) if case.phase == "prefill" else (0, case.tokens)
        answer = output_of([VITRINE, "bench", "model", model, "-p", prompt, "-n", generated, "--depth", case.depth, "--batch",
                            case.batch, "--threads", flags["threads"], "--kv-type", case.kv_type, "-r", 1, "--json"])
        return json.loads(answer)["results"][0]["tokens_per_s"]


class LlamaCpp:
    """Figures of llama.cpp's own programs."""

    name = "llama.cpp"

    def __init__(self, programs):
        self.programs = programs

    def variants(self, case, max_threads):
        # A quantised V cache needs flash attention there.
        flash = ("on",) if case.kv_type != "f16" else ("on", "off")
        return [{"threads": threads, "flash": on} for threads, on in itertools.product(range(1, max_threads + 1), flash)]

    def measure(self, case, model, flags):
        if case.phase == "start":
            return seconds_of([self.programs / "llama-completion", "-m", model, "-p", PROMPT, "-n", 1, "-t", flags["threads"],
                               "-fa", flags["flash"], "--no-warmup", "-no-cnv"])
        return self.batched(case, model, flags) if case.batch > 1 else self.single(case, model, flags)

    def single(self, case, model, flags):
        prompt, generated = (case.tokens, 0) if case.phase == "prefill" else (0, case.tokens)
        answer = output_of([self.programs / "llama-bench", "-m", model, "-p", prompt, "-n", generated, "-d", case.depth, "-t",
                            flags["threads"], "-fa", int(flags["flash"] == "on"), "-r", 1, "-o", "json"])
        return json.loads(answer)[0]["avg_ts"]

    def batched(self, case, model, flags):
        answer = output_of([self.programs / "llama-batched-bench", "-m", model, "-c", (case.depth + case.tokens) * case.batch,
                            "-npp", case.depth, "-ntg", case.tokens, "-npl", case.batch, "-t", flags["threads"], "-fa",
                            flags["flash"], "-ctk", case.kv_type, "-ctv", case.kv_type, "--output-format", "jsonl"])
        return json.loads(answer.strip().splitlines()[-1])["speed_tg"]


def read_bandwidth(threads):
    answer = output_of([VITRINE, "bench", "machine", "--threads", threads, "--size", BANDWIDTH_MIB, "--json"])
    return json.loads(answer)["reads"][0]["bytes_per_s"]


def better(case, first, second):
    return first < second if case.phase == "start" else first > second


def best_flags(engine, case, model, max_threads):
    variants = engine.variants(case, max_threads)
    if len(variants) == 1:
        return variants[0]
    best, best_figure = None, None
    for flags in variants:
        figure = engine.measure(case, model, flags)
        if best is None or better(case, figure, best_figure):
            best, best_figure = flags, figure
    return best


def measure_pair(case, model, engines, threads):
    """One run of each engine, with the bandwidth before, between and after."""
    bandwidths = [read_bandwidth(threads)]
    figures = {}
    for engine, flags in engines:
        figures[engine.name] = engine.measure(case, model, flags)
        bandwidths.append(read_bandwidth(threads))
    return {"figures": figures, "bandwidths": bandwidths, "counted": max(bandwidths) <= LARGEST_DRIFT * min(bandwidths)}


def measure_case(case, model, peer, options):
    vitrine = Vitrine()
    engines = [(vitrine, best_flags(vitrine, case, model, options.threads)),
               (peer, best_flags(peer, case, model, options.threads))]
    pairs = []
    while sum(pair["counted"] for pair in pairs) < options.pairs and len(pairs) < 3 * options.pairs:
        pairs.append(measure_pair(case, model, engines if len(pairs) % 2 == 0 else engines[::-1], options.threads))
    return summarise(case, engines, pairs)


def summarise(case, engines, pairs):
    counted = [pair for pair in pairs if pair["counted"]]
    result = {"case": dataclasses.asdict(case), "unit": "s" if case.phase == "start" else "tokens/s",
              "flags": {engine.name: flags for engine, flags in engines}, "pairs": pairs, "num_counted": len(counted)}
    if counted:
        ours, theirs = (engine.name for engine, _ in engines)
        ratios = [pair["figures"][ours] / pair["figures"][theirs] for pair in counted]
        result["medians"] = {name: statistics.median(pair["figures"][name] for pair in counted) for name in (ours, theirs)}
        # How many times as good, so that more is better for times too.
        result["ratio"] = statistics.median([1 / ratio for ratio in ratios] if case.phase == "start" else ratios)
    return result


def flags_text(flags):
    flash = f", flash attention {flags['flash']}" if "flash" in flags else ""
    return f"{flags['threads']} threads{flash}"


def table(report):
    lines = ["| model | case | Vitrine | llama.cpp | ratio | pairs | llama.cpp's flags |", "|---|---|---:|---:|---:|---:|---|"]
    for result in report["results"]:
        case, peer_flags = result["case"], flags_text(result["flags"]["llama.cpp"])
        pairs = f"{result['num_counted']} of {len(result['pairs'])}"
        if result["num_counted"] == 0:
            lines.append(f"| {result['model']} | {case['name']} | - | - | - | {pairs} | {peer_flags} |")
            continue
        digits = 3 if result["unit"] == "s" else 1
        ours, theirs = (f"{result['medians'][name]:.{digits}f}" for name in ("Vitrine", "llama.cpp"))
        lines.append(f"| {result['model']} | {case['name']} ({result['unit']}) | {ours} | {theirs} | {result['ratio']:.2f} | "
                     f"{pairs} | {peer_flags} |")
    return "\n".join(lines) + "\n"


def plot(report):
    """Bars of the ratios; the line is where both are equal."""
    results = [result for result in report["results"] if result["num_counted"]]
    scale = 520 / max([2.0] + [result["ratio"] for result in results])
    rows = []
    for index, result in enumerate(results):
        y, width = 40 + 26 * index, result["ratio"] * scale
        label = f"{result['model']}: {result['case']['name']}"
        rows.append(f'<text x="270" y="{y + 14}" text-anchor="end">{label}</text>'
                    f'<rect x="280" y="{y}" width="{width:.1f}" height="18" fill="#2f6f5e"/>'
                    f'<text x="{286 + width:.1f}" y="{y + 14}">{result["ratio"]:.2f}x</text>')
    height = 60 + 26 * len(results)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="880" height="{height}" font-family="sans-serif" font-size="12">'
            f'<rect width="880" height="{height}" fill="white"/>'
            f'<text x="280" y="22" font-weight="bold">Vitrine against llama.cpp on {report["machine"]["cpu"]}</text>'
            f'{"".join(rows)}'
            f'<line x1="{280 + scale:.1f}" y1="32" x2="{280 + scale:.1f}" y2="{height - 12}" stroke="#555" stroke-dasharray="4"/>'
            '</svg>\n')


def write_report(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    (folder / "peers.md").write_text(table(report), encoding="utf-8")
    (folder / "peers.svg").write_text(plot(report), encoding="utf-8")


def model_file(name):
    """The file behind a catalog name, fetched where it is missing."""
    if pathlib.Path(name).exists():
        return pathlib.Path(name)
    output_of([VITRINE, "pull", name, "--yes", "--quiet"])
    for row in json.loads(output_of([VITRINE, "list", "--json"]))["models"]:
        if row["name"] == name:
            path = pathlib.Path(row["path"])
            return path if path.is_file() else next(path.glob("*.gguf"))
    sys.exit(f"peers: {name}: no such file, and no model of that name")


def parse_arguments():
    names = ", ".join(case.name for case in CASES)
    parser = argparse.ArgumentParser(prog="./vitrine bench peers", description=__doc__.splitlines()[0])
    parser.add_argument("--model", action="append", help="a GGUF file or a catalog name (default: both small catalog models)")
    parser.add_argument("--case", action="append", help=f"one of: {names} (default: all)")
    parser.add_argument("--pairs", type=int, default=5, help="counted pairs of runs for each case")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/peers", help="where llama.cpp is built")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/peers/results")
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.case or ()) - {case.name for case in CASES}
    if unknown:
        parser.error(f"--case {unknown.pop()}: there are {names}")
    return options


def main():
    options = parse_arguments()
    for tool in ("cmake", "ninja", "clang-16"):
        if shutil.which(tool) is None:
            sys.exit(f"peers: {tool} is missing")
    peer = LlamaCpp(build_llama_cpp(options.build))
    machine = json.loads(output_of([VITRINE, "bench", "machine", "--size", BANDWIDTH_MIB, "--json"]))
    report = {"machine": machine, "peer": f"{PACKAGE} {VERSION}", "results": []}
    for name in options.model or ["smollm2-135m-instruct", "gemma-3-270m"]:
        model = model_file(name)
        for case in CASES:
            if options.case and case.name not in options.case:
                continue
            say(f"peers: {name}, {case.name}")
            report["results"].append({"model": pathlib.Path(name).stem, **measure_case(case, model, peer, options)})
            write_report(report, options.out)
    print(table(report), end="")
    say(f"peers: written to {options.out}")


if __name__ == "__main__":
    main()
