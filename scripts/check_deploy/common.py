"""What both checks use: this checkout's paths, programs run to their end, and the list of what held."""
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Refused(Exception):
    """A check can't go on; the text says why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **options):
    """A finished program with its output as text; nothing is raised for its exit status."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False,
                          **options)


def output_of(command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        raise Refused(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stderr[-3000:].strip()}")
    return done.stdout


def wait_until(condition, seconds):
    """Whether `condition` came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def children_of(process):
    """The numbers of a running program's children."""
    return list(map(int, pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()))


def packages_of(name):
    """The packages that scripts/packages-NAME.txt names."""
    lines = (ROOT / f"scripts/packages-{name}.txt").read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def size_of(path):
    """MB of a file or a folder."""
    return int(output_of(["du", "-s", "--apparent-size", "--block-size=1000", "--one-file-system", path]).split()[0]) / 1000


class Checks:
    """What was expected, and whether it held."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def expect(self, claim, holds, said=""):
        if holds:
            self.passed += 1
            say(f"  ok    {claim}")
        else:
            self.failed += 1
            say(f"  FAIL  {claim}" + (f"\n{str(said).rstrip()[-3000:]}" if said != "" else ""))
        return bool(holds)

    def equal(self, claim, found, wanted):
        return self.expect(claim, found == wanted, f"found {found!r}, wanted {wanted!r}")
