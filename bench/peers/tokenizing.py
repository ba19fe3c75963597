"""Speed of encoding and decoding on one thread against tiktoken and Hugging Face tokenizers: what bench/encode.py
measures, as rows of this report. It holds the ids of both sides against each other and counts CPU time, so every round
counts."""
import json
import pathlib
import tempfile

from common import ROOT, Refused, TOKENIZER_FILES, build_bench_program, output_of

ENCODE = ROOT / "bench/encode.py"
CORPUS = ROOT / "build/corpus"
# The vocabularies that each package is measured with.
VOCABULARIES = {"tiktoken": ("llama3_1", "cl100k_base", "o200k_base"), "tokenizers": ("llama3_1", "qwen3")}
MEGABYTES = {"tiktoken": 25, "tokenizers": 6}  # tokenizers takes seconds for a megabyte
SPEEDS = ("cold", "warm", "decode")


def texts_of(options):
    return [path.resolve() for path in options.text or sorted(CORPUS.glob("*.txt"))]


def make_row(result, what):
    speeds = result[what]
    runs = [{"ours": ours, "peer": peer, "counted": True} for ours, peer in speeds["rounds"]]
    return {"model": result["vocabulary"], "what": f"tokenize {result['text']}, {what}", "unit": "MB/s", "peer_name": result["peer"],
            "lower_is_better": False, "flags": None, "ours": speeds["vitrine"], "peer": speeds["peer"], "ratio": speeds["ratio"],
            "runs": runs}


def measure(options, python):
    """Rows for each package, vocabulary and text."""
    texts = texts_of(options)
    if not texts:
        raise Refused(f"tokenize: no texts in {CORPUS.relative_to(ROOT)}: ./vitrine bench corpus makes them, or give --text FILE")
    program = build_bench_program("encode")
    rows = []
    for package, vocabularies in VOCABULARIES.items():
        for text in texts:
            with tempfile.TemporaryDirectory() as folder:
                answer = pathlib.Path(folder) / "encode.json"
                output_of([python, ENCODE, "--peer", package, "--vocabulary", ",".join(vocabularies), "--corpus", text.parent,
                           "--text", text.stem, "--rounds", options.pairs, "--megabytes", MEGABYTES[package], "--encode", program,
                           "--tokenizers", TOKENIZER_FILES, "--json", answer])
                rows += [make_row(result, what) for result in json.loads(answer.read_text()) for what in SPEEDS]
    return rows
