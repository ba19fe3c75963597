"""bench/op_tables.py makes tables of what `vitrine bench model --ops --json` prints."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import op_tables


def row(section, op, seconds, **figures):
    return {"section": section, "op": op, "seconds": seconds, "time_share": seconds / 0.01, "bytes": 0.0, "ops": 0.0,
            "gb_per_s": 0.0, "tops": 0.0, "roof_share": None, **figures}


def test_what_takes_little_is_one_row_and_nothing_is_lost():
    rows = [row("qkv", "matmul", 0.008, bytes=16e6, ops=32e9, gb_per_s=2.0, tops=4.0, roof_share=0.5),
            row("norms", "add", 0.00004), row("attention", "rope", 0.00006)]
    result = {"phase": "decode", "tokens": 64, "depth": 4096, "batch": 1, "tokens_per_s": 100.0,
              "ops": {"pass_s": 0.01, "between_s": 0.0019, "read_bytes_per_s": 4e9, "rows": rows}}
    lines = op_tables.table(result).splitlines()
    assert lines[0] == "**decode, one step at depth 4096**: 10.00 ms, 100 tok/s, memory 4.0 GB/s"
    assert lines[4:] == ["| qkv | matmul | 8.00 | 80 % | 16.0 | 32.00 | 2.0 | 4.000 | 50 % |",
                         "| all smaller ones | | 0.10 | 1 % | | | | | |",
                         "| between operations | | 1.90 | 19 % | | | | | |"]


@pytest.mark.skipif("VITRINE_BINARY" not in os.environ, reason="needs VITRINE_BINARY")
def test_the_program_prints_what_the_tables_are_made_of(tmp_path):
    model, answer = tmp_path / "tiny.gguf", tmp_path / "ops.json"
    vitrine = os.environ["VITRINE_BINARY"]
    subprocess.check_call([vitrine, "synth", "--shape", "tiny-llama", "--type", "q8_0", "-o", model, "--quiet"])
    answer.write_bytes(subprocess.check_output([vitrine, "bench", "model", model, "-p", "8", "-n", "2", "-r", "1", "--ops", "--json"]))
    results = json.loads(answer.read_text())["results"]
    assert [op_tables.table(result).count("| between operations |") for result in results] == [1, 1]
