#!/usr/bin/env python3
"""Measures how fast Vitrine, tiktoken and Hugging Face's tokenizers make ids of text and text of ids, on one thread.

    bench/encode.py [--vocabulary llama3_1,...] [--text english,...] [--peer tiktoken,tokenizers] [--rounds 5]

needs build/bench/bench/encode, the tokenizer files of scripts/fetch_tokenizers.sh and the texts of bench/corpus.py. Run it
with a Python that has tiktoken and tokenizers. Every run is a process of its own that goes through the text once, a chunk
of 1 MB a call: the first chunk is "cold", those behind the fourth are "warm", "all" is the whole text; none is seen twice. Programs take turns; a figure is CPU
time, a ratio the median of those of the rounds. tiktoken gets the vocabulary and the pattern of the same file.
"""
import argparse
import array
import base64
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENCODE = ROOT / "build/bench/bench/encode"
CHUNK_BYTES = 1_000_000
WARM_FROM = 4  # chunks

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
          r"\s+(?!\S)|\s")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"])
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

# Name: the file below the tokenizer files, and the pattern for tiktoken.
VOCABULARIES = {
    "llama3_1": ("llama3_1/tokenizer.json", LLAMA3),
    "qwen3": ("qwen3/tokenizer.json", QWEN),
    "cl100k_base": ("tiktoken_cl100k_base/cl100k_base.tiktoken", CL100K),
    "o200k_base": ("tiktoken_o200k_base/o200k_base.tiktoken", O200K),
    "r50k_base": ("tiktoken_r50k_base/r50k_base.tiktoken", GPT2),
}


def byte_alphabet():
    """The character of each byte in a tokenizer.json (GPT-2's table), turned around."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def ranks_of(path):
    if path.suffix == ".tiktoken":
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in path.open("rb"))}
    alphabet = byte_alphabet()
    vocabulary = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    return {bytes(alphabet[char] for char in token): rank for token, rank in vocabulary.items()}


def load_tiktoken(path, pattern):
    import tiktoken
    encoding = tiktoken.Encoding(path.stem, pat_str=pattern, mergeable_ranks=ranks_of(path), special_tokens={})
    return encoding.encode_ordinary, encoding.decode


def load_tokenizers(path, _pattern):
    import tokenizers
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    return (lambda text: tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids), tokenizer.decode


SPEEDS = ("cold", "warm", "all", "decode")
PEERS = {"tiktoken": load_tiktoken, "tokenizers": load_tokenizers}


def chunks(data):
    begin = 0
    while begin < len(data):
        end = min(begin + CHUNK_BYTES, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        yield data[begin:end].decode("utf-8"), end - begin
        begin = end


def run_peer(peer, path, pattern, text):
    """What the program `encode` prints, of a peer."""
    start = time.process_time()
    encode, decode = PEERS[peer](path, pattern)
    report = {"load_s": time.process_time() - start}
    parts = {name: {"bytes": 0, "encode_s": 0.0, "decode_s": 0.0} for name in ("cold", "warming", "warm")}
    all_ids = hashlib.sha256()
    for index, (chunk, size) in enumerate(chunks(text.read_bytes())):
        start = time.process_time()
        ids = encode(chunk)
        encoded = time.process_time()
        decode(ids)
        part = parts["cold" if index == 0 else "warming" if index < WARM_FROM else "warm"]
        part["decode_s"] += time.process_time() - encoded
        part["encode_s"] += encoded - start
        part["bytes"] += size
        all_ids.update(array.array("i", ids).tobytes())
    print(json.dumps(report | parts | {"ids_sha256": all_ids.hexdigest()}))


def speed(parts, what):
    return sum(part["bytes"] for part in parts) / 1e6 / sum(part[what] for part in parts)


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True,
                          env=os.environ | {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"})
    return json.loads(done.stdout)


def figures_of(report):
    cold, warming, warm = report["cold"], report["warming"], report["warm"]
    return {"cold": speed([cold], "encode_s"), "warm": speed([warm], "encode_s"),
            "all": speed([cold, warming, warm], "encode_s"), "decode": speed([warm], "decode_s"), "load_s": report["load_s"]}


def beginning_of(text, num_bytes, folder):
    """The text, or a file of its first characters."""
    if num_bytes >= text.stat().st_size:
        return text
    part = pathlib.Path(folder) / text.name
    part.write_bytes(text.read_bytes()[:num_bytes].decode("utf-8", errors="ignore").encode("utf-8"))
    return part


def measure(options, name, peer, text):
    file, _ = VOCABULARIES[name]
    path = options.tokenizers / file
    ours = [options.encode, path.parent if path.suffix == ".json" else path, text]
    theirs = [sys.executable, __file__, "--run-peer", peer, "--vocabulary", name, "--text-file", text, "--tokenizers",
              options.tokenizers]
    rounds = []
    for _ in range(options.rounds):
        pair = [run(ours), run(theirs)]
        # What Qwen normalizes first, tiktoken does not.
        if pair[0]["ids_sha256"] != pair[1]["ids_sha256"] and (peer, name) != ("tiktoken", "qwen3"):
            sys.exit(f"encode: {name}, {text.name}: the ids are not those of {peer}")
        rounds.append([figures_of(report) for report in pair])
    result = {"vocabulary": name, "text": text.stem, "peer": peer}
    for what in SPEEDS:
        result[what] = {"vitrine": statistics.median(pair[0][what] for pair in rounds),
                        "peer": statistics.median(pair[1][what] for pair in rounds),
                        "ratio": statistics.median(pair[0][what] / pair[1][what] for pair in rounds),
                        "rounds": [[pair[0][what], pair[1][what]] for pair in rounds]}
    result["load_s"] = {side: statistics.median(pair[i]["load_s"] for pair in rounds) for i, side in enumerate(("vitrine", "peer"))}
    return result


def row(result):
    cells = [result["vocabulary"], result["text"], result["peer"]]
    for what in SPEEDS:
        part = result[what]
        cells.append(f"{part['vitrine']:.0f} / {part['peer']:.1f} = {part['ratio']:.1f}")
    cells.append(f"{result['load_s']['vitrine']:.2f} / {result['load_s']['peer']:.2f}")
    return "| " + " | ".join(cells) + " |"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vocabulary", default="llama3_1,cl100k_base,o200k_base", help=f"of {', '.join(VOCABULARIES)}")
    parser.add_argument("--text", default="english,code,chinese", help="names of texts in --corpus")
    parser.add_argument("--peer", default="tiktoken", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=25, help="of each text, from its beginning; at least 5")
    parser.add_argument("--encode", type=pathlib.Path, default=ENCODE, help="the program of bench/encode.cpp")
    parser.add_argument("--corpus", type=pathlib.Path, default=ROOT / "build/corpus")
    parser.add_argument("--tokenizers", type=pathlib.Path, default=ROOT / "build/tokenizer-files")
    parser.add_argument("--json", type=pathlib.Path, help="also write all results to this file")
    parser.add_argument("--run-peer", help=argparse.SUPPRESS)
    parser.add_argument("--text-file", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse_arguments()
    if options.run_peer:
        file, pattern = VOCABULARIES[options.vocabulary]
        return run_peer(options.run_peer, options.tokenizers / file, pattern, options.text_file)
    results = []
    folder = tempfile.TemporaryDirectory()
    print("| vocabulary | text | peer | cold, MB/s | warm, MB/s | all, MB/s | decode, MB/s | load, s |\n" + "|---" * 8 + "|")
    for peer in options.peer.split(","):
        for name in options.vocabulary.split(","):
            if peer == "tokenizers" and not VOCABULARIES[name][0].endswith(".json"):
                continue
            for text in options.text.split(","):
                file = beginning_of(options.corpus / f"{text}.txt", options.megabytes * 1_000_000, folder.name)
                results.append(measure(options, name, peer, file))
                print(row(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
