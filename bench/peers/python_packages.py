"""A virtual environment with the peers that are Python packages."""
import pathlib
import sys

from common import output_of, say

REQUIREMENTS = pathlib.Path(__file__).parent / "requirements.txt"


def install(folder):
    """The interpreter of the environment, as requirements.txt names its packages."""
    python, installed = folder / "bin/python", folder / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if installed.exists() and installed.read_text(encoding="utf-8") == wanted:
        return python
    say("peers: installing OpenVINO GenAI, tiktoken and tokenizers")
    output_of([sys.executable, "-m", "venv", "--clear", folder])
    output_of([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
               "-r", REQUIREMENTS])
    installed.write_text(wanted, encoding="utf-8")
    return python


def version_of(package):
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return next(line.split()[0].replace("==", " ") for line in lines if line.startswith(f"{package}=="))
