#!/usr/bin/env python3
"""Fails on links of the Markdown pages that lead nowhere: a file that is not there, a heading that no page has.

Usage: check_links.py [--root DIR]
"""
import argparse
import functools
import pathlib
import re
import sys

from check_hygiene import tracked_files

LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)")


def lines_of_text(page):
    """The lines of a page that are not code."""
    in_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line


@functools.cache
def anchors(page):
    """The names under which the headings of a page are linked, as GitHub makes them."""
    headings = (line.lstrip("#") for _, line in lines_of_text(page) if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def problems_of(page, root):
    for number, line in lines_of_text(page):
        for target, anchor in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            place = f"{page.relative_to(root)}:{number}"
            linked = (page.parent / target).resolve() if target else page
            if not linked.exists():
                yield f"{place}: {target} is not there"
            elif anchor and linked.suffix == ".md" and anchor not in anchors(linked):
                yield f"{place}: {target or 'this page'} has no heading #{anchor}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root.resolve()
    pages = [root / name for name in tracked_files(root) if name.endswith(".md") and (root / name).is_file()]
    problems = [problem for page in pages for problem in problems_of(page, root)]
    for problem in problems:
        print(problem)
    print(f"links: {len(pages)} pages, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
