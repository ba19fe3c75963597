"""What all parts of the comparison use: this checkout's paths, and programs run to their end."""
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VITRINE = ROOT / "build/release/apps/vitrine/vitrine"
BENCH_PROGRAMS = ROOT / "build/bench/bench"
TOKENIZER_FILES = ROOT / "build/tokenizer-files"


class Refused(Exception):
    """A program did not do what it was asked for; the text is its last word."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def output_of(command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
                          **options)
    if done.returncode != 0:
        raise Refused(f"{' '.join(words)} ended with {done.returncode}:\n{done.stderr[-2000:].strip()}")
    return done.stdout


def seconds_of(command):
    start = time.monotonic()
    output_of(command)
    return time.monotonic() - start


def build_bench_program(name):
    """The path of one of our own programs in bench/."""
    if not (ROOT / "build/bench/build.ninja").exists():
        output_of(["cmake", "--preset", "bench"], cwd=ROOT)
    output_of(["ninja", "-C", ROOT / "build/bench", name])
    return BENCH_PROGRAMS / name
