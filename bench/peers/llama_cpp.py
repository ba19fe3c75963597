"""llama.cpp out of the source package of its Python binding, and figures of its own programs."""
import contextlib
import hashlib
import itertools
import json
import re
import socket
import sys
import tarfile

from common import Refused, output_of, say, seconds_of
from serving import PROMPT_WORDS, put_load, running
from vitrine_engine import PROMPT

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
PROGRAMS = ("llama-bench", "llama-batched-bench", "llama-completion", "llama-server", "llama-perplexity", "llama-quantize")
MOST_SEQUENCES = 32


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
        raise Refused(f"{archive}: SHA-256 {digest}, expected {SHA256}")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return unpacked


def build(folder):
    """The folder with its programs. g++ 12 would make an AMX build that ends with an illegal instruction."""
    programs = folder / "build/bin"
    if all((programs / name).exists() for name in PROGRAMS):
        return programs
    sources = fetch_sources(folder) / "vendor/llama.cpp"
    say("peers: building llama.cpp (15 minutes on two cores)")
    output_of(["cmake", "-S", sources, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
               "-DCMAKE_C_COMPILER=clang-16", "-DCMAKE_CXX_COMPILER=clang++-16", "-DGGML_NATIVE=ON",
               "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF",
               "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_BUILD_UI=OFF"])
    output_of(["ninja", "-C", folder / "build", *PROGRAMS])
    return programs


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class LlamaCpp:
    name = "llama.cpp"
    version = f"{PACKAGE} {VERSION}"

    def __init__(self, programs):
        self.programs = programs

    def supports(self, case):
        return not case.phase.startswith("load")

    def variants(self, case, max_threads):
        # A quantised V cache needs flash attention there.
        flash = ("on",) if case.kv_type != "f16" else ("on", "off")
        threads = (max_threads,) if case.phase == "serve" else range(1, max_threads + 1)
        return [{"threads": count, "flash": on} for count, on in itertools.product(threads, flash)]

    def measure(self, case, model, flags):
        if case.phase == "serve":
            with self.serve(model, case, flags) as (url, name):
                return put_load(url, name, case.tokens)
        if case.phase == "start":
            return {"": seconds_of([self.programs / "llama-completion", "-m", model, "-p", PROMPT, "-n", 1, "-t",
                                    flags["threads"], "-fa", flags["flash"], "--no-warmup", "-no-cnv"])}
        return {"": self.batched(case, model, flags) if case.batch > 1 else self.single(case, model, flags)}

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

    @contextlib.contextmanager
    def serve(self, model, case, flags):
        # Each slot holds the prompt in its chat form and the answer.
        context = 2 * (PROMPT_WORDS + case.tokens) * MOST_SEQUENCES
        command = [self.programs / "llama-server", "-m", model, "--port", free_port(), "-np", MOST_SEQUENCES, "-c", context,
                   "-t", flags["threads"], "-fa", flags["flash"]]
        with running(command, re.compile(r"(?:listening|starting).* (http://\S+)")) as url:
            yield url.rstrip(",."), "peer"
