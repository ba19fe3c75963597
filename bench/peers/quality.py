"""How far llama.cpp and Vitrine are from float32 of the same weights, on the same tokens.

llama-quantize makes an F32 file of the model, llama-perplexity writes that file's distributions, then holds the model
itself against them; bench/divergence reads the same distributions, with the tokens and chunks that lie beside them, and
does the same with Vitrine's numeric paths.
"""
import pathlib
import re
import subprocess
import tempfile

from common import ROOT, Refused, build_bench_program, output_of, say
from pairs import times_as_good

TEXTS = [ROOT / "tests/data/quality" / name for name in ("prose.txt", "code.txt")]
CHUNK_TOKENS = 512
# As llama-perplexity names them; a figure that is better when it is higher comes last.
FIGURES = (("KL", "nats", True), ("perplexity", "", True), ("top-1 agreement", "%", False))
OURS = re.compile(r"(\w+) +KL (\S+) \+- (\S+) nats +top-1 agreement (\S+) \+- (\S+) % +perplexity (\S+) \+- (\S+), "
                  r"of the file (\S+) +\((\d+) positions\)")
PEER_LINES = {"KL": re.compile(r"^Mean +KLD: +(\S+) ± +(\S+)", re.MULTILINE),
              "perplexity": re.compile(r"^Mean PPL\(Q\) +: +(\S+) ± +(\S+)", re.MULTILINE),
              "top-1 agreement": re.compile(r"^Same top p: +(\S+) ± +(\S+)", re.MULTILINE)}


def figure(mean, error):
    return {"mean": float(mean), "standard_error": float(error)}


def parse_ours(text):
    """The figures of each path by its name."""
    return {match[0]: {"KL": figure(*match[1:3]), "top-1 agreement": figure(*match[3:5]), "perplexity": figure(*match[5:7]),
                       "float32_perplexity": float(match[7]), "positions": int(match[8])} for match in OURS.findall(text)}


def parse_peer(text):
    found = {name: pattern.search(text) for name, pattern in PEER_LINES.items()}
    if None in found.values():
        raise Refused(f"llama-perplexity: no statistics in what it wrote:\n{text[-1000:]}")
    return {name: figure(match[1], match[2]) for name, match in found.items()}


def make_rows(ours, peer):
    rows = []
    for path, figures in ours.items():
        if path == "reference":
            continue
        for name, unit, lower_is_better in FIGURES:
            mine, theirs = figures[name]["mean"], peer[name]["mean"]
            rows.append({"what": f"quality, {path} path: {name}", "unit": unit, "peer_name": "llama.cpp",
                         "lower_is_better": lower_is_better, "flags": None, "ours": mine, "peer": theirs,
                         "ratio": times_as_good(lower_is_better, mine, theirs), "runs": [],
                         "standard_errors": {"ours": figures[name]["standard_error"], "peer": peer[name]["standard_error"]}})
    return rows


def run_perplexity(programs, *words):
    command = [str(word) for word in (programs / "llama-perplexity", "-c", CHUNK_TOKENS, *words)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def measure(model, programs, threads, work):
    """Rows for a model, and what each side said."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        folder = pathlib.Path(folder)
        text, float32, base = folder / "text.txt", folder / "float32.gguf", folder / "base.kld"
        text.write_bytes(b"\n".join(path.read_bytes() for path in TEXTS))
        say(f"peers: {model.stem}, quality")
        output_of([programs / "llama-quantize", "--allow-requantize", model, float32, "F32", threads])
        run_perplexity(programs, "-m", float32, "-f", text, "-t", threads, "-fa", "off", "-ctk", "f32", "-ctv", "f32",
                       "--kl-divergence-base", base)
        peer = parse_peer(run_perplexity(programs, "-m", model, "-t", threads, "--kl-divergence-base", base, "--kl-divergence"))
        ours = parse_ours(output_of([build_bench_program("divergence"), model, "--base", base]))
    return make_rows(ours, peer), {"vitrine": ours, "llama.cpp": peer, "chunk_tokens": CHUNK_TOKENS}
