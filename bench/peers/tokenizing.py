"""Encoding speed on one thread, the same vocabulary and the same texts, against tiktoken and Hugging Face tokenizers."""
import dataclasses
import json
import pathlib
import re

import pairs
from cases import Metric
from common import ROOT, Refused, TOKENIZER_FILES, build_bench_program, output_of
from python_packages import version_of

DRIVER = pathlib.Path(__file__).parent / "tokenize_driver.py"
CORPUS = ROOT / "build/corpus"
ENCODE_LINE = re.compile(r"(.+): ([0-9.]+) MB/s, ([0-9]+) tokens")
# Each vocabulary with the package that reads the same file.
VOCABULARIES = {
    "cl100k_base": ("tiktoken", "tiktoken_cl100k_base/cl100k_base.tiktoken"),
    "o200k_base": ("tiktoken", "tiktoken_o200k_base/o200k_base.tiktoken"),
    "Llama 3.1": ("tokenizers", "llama3_1/tokenizer.json"),
    "Qwen 3": ("tokenizers", "qwen3/tokenizer.json"),
    "Gemma 3": ("tokenizers", "gemma3/tokenizer.json"),
}


@dataclasses.dataclass(frozen=True)
class EncodeCase:
    texts: tuple  # files
    name: str = "tokenize"

    def metrics(self):
        return tuple(Metric(text.stem, "MB/s") for text in self.texts)


class Encoder:
    """Keeps the numbers of tokens that it made, so that both sides can be held against each other."""

    def __init__(self, name, version):
        self.name, self.version = name, version
        self.num_tokens = {}

    def variants(self, _case, _max_threads):
        return [{"threads": 1}]

    def measure(self, case, vocabulary, _flags):
        figures = {}
        for text, rate, num_tokens in self.encode(vocabulary, case.texts):
            figures[text.stem], self.num_tokens[text.stem] = rate, num_tokens
        return figures


class VitrineEncoder(Encoder):
    def __init__(self):
        super().__init__("Vitrine", None)
        self.program = build_bench_program("encode")

    def encode(self, vocabulary, texts):
        answer = output_of([self.program, vocabulary, *texts])
        lines = [match for match in map(ENCODE_LINE.fullmatch, answer.splitlines()) if match]
        return [(pathlib.Path(match[1]), float(match[2]), int(match[3])) for match in lines]


class PackageEncoder(Encoder):
    def __init__(self, package, python):
        super().__init__(package, version_of(package))
        self.package, self.python = package, python

    def encode(self, vocabulary, texts):
        answer = json.loads(output_of([self.python, DRIVER, self.package, vocabulary, *texts]))
        return [(text, row["mb_per_s"], row["tokens"]) for text, row in zip(texts, answer["texts"])]


def texts_of(options):
    return tuple(options.text or sorted(CORPUS.glob("*.txt")))


def measure(options, python):
    """Rows for each vocabulary and text."""
    case = EncodeCase(texts_of(options))
    if not case.texts:
        raise Refused(f"tokenize: no texts in {CORPUS.relative_to(ROOT)}; give --text FILE, once for each")
    rows = []
    for vocabulary, (package, file) in VOCABULARIES.items():
        path = TOKENIZER_FILES / file
        if not path.exists():
            raise Refused(f"tokenize: {path.relative_to(ROOT)} is missing; scripts/fetch_tokenizers.sh fetches it")
        ours, peer = VitrineEncoder(), PackageEncoder(package, python)
        for row in pairs.compare(case, path, ours, peer, options):
            check_tokens(vocabulary, ours, peer)
            rows.append({"model": vocabulary, **row})
    return rows


def check_tokens(vocabulary, ours, peer):
    if ours.num_tokens != peer.num_tokens:
        raise Refused(f"tokenize: {vocabulary}: {ours.num_tokens} tokens, {peer.name} {peer.num_tokens}")
