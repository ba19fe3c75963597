#!/usr/bin/env python3
"""Markdown tables for docs/performance.md: op_tables.py FILE... of `vitrine bench model --ops --json`.

Operations that take less than a hundredth of the time are one row.
"""
import json
import pathlib
import sys

SMALLEST_SHARE = 0.01
HEADER = ("| part | operation | ms | of the time | MB read | GFLOP | GB/s | TOPS | of the roof |\n"
          "|---|---|---:|---:|---:|---:|---:|---:|---:|")


def or_dash(value, digits):
    return f"{value:.{digits}f}" if value else "-"


def op_line(row):
    share = f"{100 * row['roof_share']:.0f} %" if row["roof_share"] else "-"
    return (f"| {row['section']} | {row['op']} | {1e3 * row['seconds']:.2f} | {100 * row['time_share']:.0f} % | "
            f"{or_dash(row['bytes'] / 1e6, 1)} | {or_dash(row['ops'] / 1e9, 2)} | {or_dash(row['gb_per_s'], 1)} | "
            f"{or_dash(row['tops'], 3)} | {share} |")


def sum_line(name, seconds, pass_s):
    return f"| {name} | | {1e3 * seconds:.2f} | {100 * seconds / pass_s:.0f} % | | | | | |"


def title(result):
    batch = f", {result['batch']} together" if result["batch"] > 1 else ""
    what = f"prefill, {result['tokens']} tokens" if result["phase"] == "prefill" else "decode, one step"
    return (f"**{what} at depth {result['depth']}{batch}**: {1e3 * result['ops']['pass_s']:.2f} ms, "
            f"{result['tokens_per_s']:.0f} tok/s, memory {result['ops']['read_bytes_per_s'] / 1e9:.1f} GB/s")


def table(result):
    ops, pass_s = result["ops"], result["ops"]["pass_s"]
    shown = [row for row in ops["rows"] if row["time_share"] >= SMALLEST_SHARE]
    small_s = sum(row["seconds"] for row in ops["rows"]) - sum(row["seconds"] for row in shown)
    lines = [title(result), "", HEADER, *map(op_line, shown), sum_line("all smaller ones", small_s, pass_s),
             sum_line("between operations", ops["between_s"], pass_s)]
    return "\n".join(lines)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[0])
    for name in sys.argv[1:]:
        answer = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        for result in answer["results"]:
            print(table(result), end="\n\n")


if __name__ == "__main__":
    main()
