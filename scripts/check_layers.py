#!/usr/bin/env python3
"""Fails on every include and every link that the folder table of docs/architecture.md does not allow.

The table is the only list of edges: a row names a folder and the folders that it may use; what those may use follows.
base and trace may be used everywhere above them. Usage: check_layers.py [--root DIR] [--graph]
"""
import argparse
import pathlib
import re
import sys

SOURCE_SUFFIXES = {".h", ".cpp", ".inc"}
# Where the compiler looks for "folder/file.h".
INCLUDE_ROOTS = ("src", "apps", "bridge/include")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
LIBRARY = re.compile(r"vitrine_library\(\s*(\w+)([^)]*)\)")
FOREACH = re.compile(r"foreach\(\w+ ([^)]*)\)")
ROW = re.compile(r"^\|(?P<folders>[^|]*`[^|]*)\|(?P<what>[^|]*)\|(?P<uses>[^|]*)\|\s*$", re.MULTILINE)
TABLE_HEAD = "| folder | responsibility | may include |"
ALWAYS = ("base", "trace")
EVERYTHING = "all"
KEYWORDS = {"DEPS", "LIBS", "SOURCES", "COLD_SOURCES", "HEADERS"}


def read_table(text):
    """{folder: set of folders named in its row}, in the table's order, which is bottom-up."""
    table = {}
    _, _, rest = text.partition(TABLE_HEAD)
    for row in ROW.finditer(rest.partition("\n\n")[0]):
        uses = row["uses"].strip()
        for folder in re.findall(r"`([^`]+)`", row["folders"]):
            name = folder.strip("/").removeprefix("src/")
            if uses == EVERYTHING:
                table[name] = {EVERYTHING}
            else:
                table[name] = set(re.findall(r"[a-z][a-z_/]*", uses)) - {"std"}
    return table


def allowed_edges(table):
    """{folder: every folder that it may use}, the rows closed over what they name."""
    order = list(table)
    allowed = {}
    for index, name in enumerate(order):
        if EVERYTHING in table[name]:
            allowed[name] = set(order)
            continue
        unknown = table[name] - set(order[:index])
        if unknown:
            sys.exit(f"docs/architecture.md: the row of {name} names {sorted(unknown)}, which no row above it describes")
        reach = {name} | set(table[name]) | {low for low in ALWAYS if low in order[:index]}
        for low in list(reach - {name}):
            reach |= allowed[low]
        allowed[name] = reach
    return allowed


def folder_of(path, folders):
    """The longest folder of the table that `path` lies in, or None."""
    matches = [name for name in folders if path == name or path.startswith(name + "/")]
    return max(matches, key=len, default=None)


def own_folder(relative, folders):
    return folder_of(relative.removeprefix("src/"), folders)


def find_header(root, target):
    """The included file's path below the repository's root, or None."""
    for top in INCLUDE_ROOTS:
        if (root / top / target).is_file():
            return f"{top}/{target}"
    return None


def check_includes(root, allowed):
    errors, edges = [], set()
    for top in ("src", "apps"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCE_SUFFIXES:
                continue
            relative = path.relative_to(root).as_posix()
            owner = own_folder(relative, allowed)
            if owner is None:
                errors.append(f"{relative}: its folder has no row in docs/architecture.md")
                continue
            for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
                header = find_header(root, target)
                used = own_folder(header, allowed) if header else None
                if used is None:
                    errors.append(f'{relative}: "{target}" is no file of the table\'s folders (write "folder/file.h")')
                elif used not in allowed[owner]:
                    errors.append(f'{relative}: {owner} may not use {used} ("{target}")')
                elif used != owner:
                    edges.add((owner, used))
    return errors, edges


def check_links(root, allowed):
    """The DEPS of each src folder's library stay inside the same table."""
    libraries = {}
    for path in sorted((root / "src").rglob("CMakeLists.txt")):
        owner = own_folder(path.parent.relative_to(root).as_posix(), allowed)
        text = path.read_text(encoding="utf-8")
        for name, rest in LIBRARY.findall(text):
            libraries[name] = (path.relative_to(root).as_posix(), owner, deps_of(expand(rest, text)))
    errors = []
    for file, owner, deps in libraries.values():
        for dep in deps:
            used = libraries[dep][1] if dep in libraries else folder_of(dep, allowed)
            if used is None or owner is None or used not in allowed[owner]:
                errors.append(f"{file}: {owner} may not link {dep}")
    return errors


def expand(arguments, text):
    """Replaces ${NAME} by all that the file may ever put into it, the items of its foreach loops included."""
    items = [word for loop in FOREACH.findall(text) for word in loop.split()]

    def values(match):
        found = re.findall(r"(?:set|list)\((?:APPEND\s+)?" + match[1] + r"\s+([^)]*)\)", text)
        words = [word for words in found for word in words.split() if "${" not in word]
        return " ".join(words + items)

    return re.sub(r"\$\{(\w+)\}", values, arguments)


def deps_of(arguments):
    deps, inside = [], False
    for word in arguments.split():
        if word in KEYWORDS:
            inside = word == "DEPS"
        elif inside:
            deps.append(word)
    return deps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--graph", action="store_true", help="print the edges in use")
    options = parser.parse_args()
    table = read_table((options.root / "docs" / "architecture.md").read_text(encoding="utf-8"))
    if "base" not in table:
        sys.exit("docs/architecture.md: no folder table found")
    allowed = allowed_edges(table)
    errors, edges = check_includes(options.root, allowed)
    errors += check_links(options.root, allowed)
    if options.graph:
        for owner, used in sorted(edges):
            print(f"{owner} -> {used}")
    for error in errors:
        print(error)
    print(f"layers: {len(table)} folders, {len(edges)} edges in use, {len(errors)} not allowed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
