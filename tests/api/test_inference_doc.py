"""docs/inference.md stays true: what stands there under a command is what the program prints.

A block that is checked has the comment `<!-- check -->` before it; `<!-- check: not TIME ms, GB/s -->` leaves out the columns
of these names, which are times. A command begins with `$ `, the lines below are its standard output, and `…` alone on a line
stands for any number of them. Both languages have the same blocks. Spaces between words are not compared.

Where prompt rows take another numeric path (docs/numerics.md) logits and probabilities may differ a little: there numbers
with a fraction, percentages and what follows from them are compared with a tolerance, and once more to the last digit with
an instruction set that takes the page's paths."""
import os
import pathlib
import re
import subprocess
from itertools import zip_longest

import pytest

from conftest import ServerProcess, find_tool

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "inference.md", DOCS / "inference.zh-CN.md"]
MODEL = "smollm2-135m-instruct"
SERVER = "http://127.0.0.1:8080"
SHADES = " ░▒▓█"
BLOCK = re.compile(r"^<!-- check(?:: not (?P<columns>.+?))? -->\n```\w*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"\S+(?: \S+)*")  # a table's cells have two spaces between them
NUMBER = re.compile(r"^([\[(]*)(-?[\d,]*\.?\d+)([%,)\]]*)$")


def blocks_of(page):
    return [(found["text"], tuple((found["columns"] or "").split(", "))) for found in BLOCK.finditer(page.read_text())]


def commands_of(text):
    """[(command, the lines below it)]; a command goes on behind a backslash."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append([line[2:], []])
        elif commands[-1][0].endswith("\\"):
            commands[-1][0] += "\n" + line
        else:
            commands[-1][1].append(line)
    return commands


def without_columns(lines, columns):
    """The lines' words, without the cells that end where the header of one of these columns ends."""
    kept = []
    ends = set()
    for line in lines:
        cells = list(WORD.finditer(line))
        if not cells:
            ends = set()
        elif found := {cell.end() for cell in cells if cell[0] in columns}:
            ends = found
        kept.append(" ".join(cell[0] for cell in cells if cell.end() not in ends).split())
    return kept


def is_map_row(line):
    return bool(line) and all(character in SHADES for character in line)


def same_word(stated, printed, is_exact):
    if stated == printed:
        return True
    found, other = NUMBER.match(stated), NUMBER.match(printed)
    if is_exact or not found or not other or ("." not in stated and "%" not in found[3]):
        return False
    first, second = (float(match[2].replace(",", "")) for match in (found, other))
    return abs(first - second) <= max(0.03 * abs(first), 1.0)


def same_line(stated, printed, is_exact):
    # "32 %": the sign is a word of its own.
    stated, printed = (re.sub(r" %", "%", " ".join(words)).split() for words in (stated, printed))
    return len(stated) == len(printed) and all(map(lambda pair: same_percentage(*pair, is_exact), zip(stated, printed)))


def same_percentage(stated, printed, is_exact):
    if is_exact or not (stated.endswith("%") and printed.endswith("%")):
        return same_word(stated, printed, is_exact)
    return abs(float(stated[:-1]) - float(printed[:-1])) <= 6.0


def first_difference(stated, printed, is_exact):
    """None, or the stated line that is not where it should be. Between two ellipses the first place that fits is taken."""
    position, may_skip = 0, False
    for words in stated:
        if words == ["…"]:
            may_skip = True
            continue
        while may_skip and position < len(printed) and not same_line(words, printed[position], is_exact):
            position += 1
        if position == len(printed) or not same_line(words, printed[position], is_exact):
            return " ".join(words)
        position, may_skip = position + 1, False
    return None if may_skip or position == len(printed) else "the end; printed is also: " + " ".join(printed[position])


def same_map(stated, printed):
    """Heat maps row by row: a square may be one shade lighter or darker."""
    return len(stated) == len(printed) and all(
        abs(SHADES.index(a) - SHADES.index(b)) <= 1
        for row, other in zip(stated, printed) for a, b in zip_longest(row, other, fillvalue=" "))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run: `./vitrine` is the binary, and the one model on disk is the test's."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "vitrine").symlink_to(pathlib.Path(os.environ["VITRINE_BINARY"]).resolve())
    models = folder / "home" / "models"
    models.mkdir(parents=True)
    (models / MODEL).symlink_to(pathlib.Path(os.environ["VITRINE_TEST_MODEL"]).resolve().parent)
    return folder


def takes_the_paths_of_the_page():
    """Whether the numbers of the highest instruction set are the page's to the last digit."""
    command = [os.environ["VITRINE_BINARY"], "explain", os.environ["VITRINE_TEST_MODEL"], "The", "-n", "1"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.search(r"paths prompt=latency generated=latency$", printed, re.MULTILINE) is not None


@pytest.fixture(scope="module", params=["highest", "avx512"])
def isa(request):
    """What the environment says of the instruction set."""
    if request.param == "highest":
        return {}
    if takes_the_paths_of_the_page():
        pytest.skip("the highest instruction set takes the page's paths already")
    return {"VITRINE_ISA": request.param}


@pytest.fixture(scope="module")
def page_server(tmp_path_factory, isa):
    running = ServerProcess(tmp_path_factory.mktemp("state"), env=isa,
                            models=[f"{MODEL}={os.environ['VITRINE_TEST_MODEL']}"])
    yield running
    assert running.stop() == 0, "the server did not end well"


@pytest.fixture(scope="module")
def run(folder, page_server, isa):
    find_tool("curl", "curl")

    def run_command(command):
        command = command.replace(SERVER, page_server.url)
        # The C locale's UTF-8 is what every system has; the page's commands need bash, as the script ./vitrine does.
        env = {**os.environ, **isa, "VITRINE_HOME": str(folder / "home"), "VITRINE_STATE": str(folder / "state"),
               "LC_ALL": "C.UTF-8", "no_proxy": "127.0.0.1"}
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"$ {command}\n{done.stderr}"
        return done.stdout.splitlines()

    return run_command


def test_both_languages_have_the_same_blocks():
    english, chinese = map(blocks_of, PAGES)
    assert len(english) > 10
    assert english == chinese


def test_the_page_is_what_the_program_prints(run, isa):
    is_exact = bool(isa) or takes_the_paths_of_the_page()
    for text, columns in blocks_of(PAGES[0]):
        for command, stated in commands_of(text):
            printed = run(command)
            maps = [[line.rstrip() for line in lines if is_map_row(line)] for lines in (stated, printed)]
            assert not maps[0] or (maps[0] == maps[1] if is_exact else same_map(*maps)), f"$ {command}"
            stated, printed = ([line for line in lines if not is_map_row(line)] for lines in (stated, printed))
            difference = first_difference(
                without_columns(stated, columns), without_columns(printed, columns), is_exact)
            assert difference is None, f"$ {command}\nis not printed there: {difference}\nprinted:\n" + "\n".join(printed)
