#!/usr/bin/env python3
"""Carries out deploy/Dockerfile and starts deploy/vitrine.service under a systemd of its own, without a container engine.

Needs root, Debian's mmdebstrap and systemd-container, and the network. The image is made as an engine would make it: each
instruction in a fresh Debian root, of what is committed. What it holds and how a container of it behaves is checked, then
the unit in a machine that systemd-nspawn boots, installed by the commands of docs/operations.md.

The last line is of the form "N passed, N failed". Exit status 1 when anything failed.
"""
import argparse
import os
import pathlib
import shutil
import sys

import image
from common import ROOT, Checks, Refused, say, size_of
from container_checks import BINARY, check_container, fetch_model
from network import leave_the_machines_network
from roots import make_base
from unit_checks import check_unit, prepare_machine

TOOLS = {"mmdebstrap": "mmdebstrap", "systemd-nspawn": "systemd-container", "unshare": "util-linux", "git": "git"}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/check_deploy", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", metavar="WHAT", help="container, unit (default: both)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/check-deploy", help="where the roots are made: 6 GB")
    parser.add_argument("--apt-sources", type=pathlib.Path, default="/etc/apt/sources.list.d/debian.sources",
                        help="the file that says where Debian's packages come from (default: %(default)s)")
    parser.add_argument("--certificates", type=pathlib.Path,
                        help="a folder of *.crt files that the way to the network needs, such as that of a proxy")
    parser.add_argument("--model", default="smollm2-135m-instruct", help="a catalog name (default: %(default)s)")
    parser.add_argument("--reuse", action="store_true", help="take the build stages of the last call, and make the last stage alone")
    options = parser.parse_args()
    unknown = set(options.what) - {"container", "unit"}
    if unknown:
        parser.error(f"{', '.join(unknown)}: neither container nor unit")
    return options


def check_tools():
    if os.geteuid() != 0:
        raise Refused("roots and namespaces are made by root: call this with sudo")
    missing = [f"{tool} (Debian's {package})" for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        raise Refused(f"missing: {', '.join(missing)}; install it with apt-get install")


def build_image(options):
    builder = image.Builder(options.folder, options)
    made = builder.build((ROOT / "deploy/Dockerfile").read_text(encoding="utf-8"))
    for text, seconds, megabytes in builder.seconds:
        say(f"{seconds:8.1f} s {megabytes:8.1f} MB  {text[:100]}")
    return made


def report_sizes(made, options):
    base = make_base("debian:12-slim", options.folder, options)
    whole, slim, binary = size_of(made.root), size_of(base), size_of(made.root / BINARY.lstrip("/"))
    say(f"image: {whole:.0f} MB: {slim:.0f} the base, {whole - slim - binary:.0f} packages, {binary:.1f} the binary")


def check(checks, options):
    made = build_image(options)
    report_sizes(made, options)
    both = not options.what
    volumes = fetch_model(checks, made, options) if both or "container" in options.what else None
    machine = prepare_machine(made, options) if both or "unit" in options.what else None
    leave_the_machines_network()
    if volumes:
        say("A container:")
        check_container(checks, made, volumes, options)
    if machine:
        say("A machine with systemd:")
        check_unit(checks, machine, options)


def main():
    options = parse_arguments()
    options.folder = options.folder.resolve()
    checks = Checks()
    try:
        check_tools()
        options.folder.mkdir(parents=True, exist_ok=True)
        check(checks, options)
    except Refused as reason:
        checks.expect("the check came to its end", False, reason)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
