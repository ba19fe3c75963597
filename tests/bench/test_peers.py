"""The rules of ./vitrine bench peers: which flags, which pairs count, what a ratio says, what is written."""
import pathlib
import re
import sys
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench/peers"))

import cases
import common
import openvino_engine
import pairs
import python_packages
import quality
import report
import serving
import tokenizing

PREFILL = cases.Case("prefill 512", "prefill", 512)
START = cases.Case("start to first token", "start", 1)
OPTIONS = types.SimpleNamespace(threads=2, pairs=2)


class FakeEngine:
    """Gives the figures of a table by its flags, in order; a text in place of a figure is a refusal."""

    def __init__(self, name, table):
        self.name, self.table, self.asked = name, {key: list(values) for key, values in table.items()}, []

    def variants(self, _case, _max_threads):
        return [{"threads": threads} for threads in self.table]

    def measure(self, case, _subject, flags):
        values = self.table[flags["threads"]]
        self.asked.append(flags["threads"])
        value = values.pop(0) if len(values) > 1 else values[0]
        if isinstance(value, str):
            raise common.Refused(value)
        return {metric.name: value for metric in case.metrics()}


@pytest.fixture
def bandwidths(monkeypatch):
    """The bandwidths that are measured, one after the other; then always the last."""
    values = [10.0]
    monkeypatch.setattr(pairs, "read_bandwidth", lambda _threads: values.pop(0) if len(values) > 1 else values[0])
    return values


def test_the_best_flags_are_those_of_the_higher_rate_or_the_lower_time():
    engine = FakeEngine("peer", {1: [5.0], 2: [7.0], 3: [6.0]})
    assert pairs.best_flags(engine, PREFILL, None, 3) == {"threads": 2}
    assert pairs.best_flags(engine, START, None, 3) == {"threads": 1}


def test_flags_that_are_refused_are_passed_over_until_none_is_left():
    assert pairs.best_flags(FakeEngine("peer", {1: ["no"], 2: [7.0]}), PREFILL, None, 2) == {"threads": 2}
    with pytest.raises(common.Refused, match="never"):
        pairs.best_flags(FakeEngine("peer", {1: ["no"], 2: ["never"]}), PREFILL, None, 2)


def test_a_pair_counts_unless_the_bandwidth_moved_by_more_than_15_percent():
    assert pairs.is_counted([10.0, 11.5, 10.0])
    assert not pairs.is_counted([10.0, 11.6, 10.0])


def test_pairs_alternate_and_those_that_do_not_count_are_made_again(bandwidths):
    order = []

    class Noted(FakeEngine):
        def measure(self, case, subject, flags):
            order.append(self.name)
            return super().measure(case, subject, flags)

    bandwidths[:] = [10.0, 20.0, 10.0, 10.0]
    ours, peer = Noted("ours", {2: [30.0]}), Noted("peer", {2: [10.0]})
    (row,) = pairs.compare(PREFILL, None, ours, peer, OPTIONS)
    assert order == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert [run["counted"] for run in row["runs"]] == [False, True, True]


def test_a_machine_that_never_rests_gives_a_row_without_a_ratio(bandwidths):
    bandwidths[:] = [10.0, 20.0] * 40
    (row,) = pairs.compare(PREFILL, None, FakeEngine("ours", {2: [3.0]}), FakeEngine("peer", {2: [1.0]}), OPTIONS)
    assert len(row["runs"]) == 3 * OPTIONS.pairs and row["ratio"] is None


@pytest.mark.parametrize("case, ours, peer, ratio", [(PREFILL, 30.0, 10.0, 3.0), (START, 0.1, 0.4, 4.0)])
def test_a_ratio_above_one_is_ours_being_better(bandwidths, case, ours, peer, ratio):
    (row,) = pairs.compare(case, None, FakeEngine("ours", {2: [ours]}), FakeEngine("peer", {2: [peer]}), OPTIONS)
    assert row["ratio"] == pytest.approx(ratio)
    assert (row["ours"], row["peer"]) == (ours, peer)


def test_the_figures_are_medians_of_the_counted_pairs(bandwidths):
    options = types.SimpleNamespace(threads=2, pairs=3)
    ours = FakeEngine("ours", {2: [30.0, 90.0, 33.0]})
    (row,) = pairs.compare(PREFILL, None, ours, FakeEngine("peer", {2: [10.0]}), options)
    assert (row["ours"], row["ratio"]) == (33.0, pytest.approx(3.3))


def test_a_peer_that_can_not_gives_a_row_with_its_reason(bandwidths):
    (row,) = pairs.compare(PREFILL, None, FakeEngine("ours", {2: [3.0]}), FakeEngine("peer", {2: ["bad type"]}), OPTIONS)
    assert row["refused"] == "bad type"
    assert "| refused |" in report.table_row({"model": "m", **row}) and "bad type" in report.table_row({"model": "m", **row})


def test_serving_is_decided_by_the_rate_of_eight():
    names = [metric.name for metric in cases.Case("serve", "serve", 64).metrics()]
    assert names[0] == "8 at once" and len(names) == 9
    assert [metric.lower_is_better for metric in cases.Case("serve", "serve", 64).metrics()] == [False, True, True] * 3


def test_the_report_has_a_row_and_a_bar_for_each_comparison(bandwidths, tmp_path):
    rows = pairs.compare(PREFILL, None, FakeEngine("ours", {2: [30.0]}), FakeEngine("A & B", {2: [10.0]}), OPTIONS)
    written = {"machine": {"cpu": "a CPU"}, "peers": {}, "rows": [{"model": "m", **row} for row in rows]}
    report.write(written, tmp_path)
    assert "| m | prefill 512 (tokens/s) | A & B | 30.0 | 10.0 | 3.00 | 2 of 2 | 2 threads |" in (tmp_path / "peers.md").read_text()
    plot = (tmp_path / "peers.svg").read_text()
    assert plot.count("<rect") == 2 and "A &amp; B" in plot


def test_a_server_that_ends_before_it_listens_is_refused():
    with pytest.raises(common.Refused, match="did not start"):
        with serving.running([sys.executable, "-c", "import sys; sys.exit('no model')"], re.compile(r"at (http\S+)")):
            pass


def test_a_server_is_ended_with_its_block():
    program = "import sys, time; print('at http://here', file=sys.stderr, flush=True); time.sleep(600)"
    with serving.running([sys.executable, "-c", program], re.compile(r"at (http\S+)")) as url:
        assert url == "http://here"


def test_openvino_is_asked_for_what_it_can_do():
    engine = openvino_engine.OpenVinoGenAi("python", pathlib.Path("kept"))
    supported = [case.name for case in cases.MODEL_CASES if engine.supports(case)]
    assert supported == ["prefill 512", "prefill 4096", "decode", "decode at 4096", "load", "load again"]


def test_every_package_is_pinned_by_version_and_hash():
    for line in python_packages.REQUIREMENTS.read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z-]+==[0-9.]+ --hash=sha256:[0-9a-f]{64}", line)
    assert python_packages.version_of("tiktoken") == "tiktoken 0.14.0"


def test_what_the_encoders_measured_becomes_rows():
    speeds = {"vitrine": 20.0, "peer": 4.0, "ratio": 5.0, "rounds": [[20.0, 4.0], [21.0, 4.2]]}
    row = tokenizing.make_row({"vocabulary": "llama3_1", "text": "code", "peer": "tiktoken", "warm": speeds}, "warm")
    assert (row["model"], row["what"], row["ours"], row["ratio"]) == ("llama3_1", "tokenize code, warm", 20.0, 5.0)
    assert row["runs"][1] == {"ours": 21.0, "peer": 4.2, "counted": True}


OUR_SCORES = """reference   KL 0.000000 +- 0.000000 nats  top-1 agreement 100.000 +- 0.000 %  perplexity 13.8079 +- 0.7000, of the file 13.8010  (1785 positions)
latency     KL 0.002000 +- 0.000100 nats  top-1 agreement 97.000 +- 0.400 %  perplexity 14.0000 +- 0.7000, of the file 13.8010  (1785 positions)
"""
PEER_SCORES = """Mean PPL(Q)                   :  13.797184 ±   0.704000
Mean PPL(base)                :  13.801000 ±   0.704000
Mean    KLD:   0.004000 ±   0.000200
Maximum KLD:   0.100000
Same top p: 96.751 ± 0.420 %
"""


def test_quality_holds_each_fast_path_against_the_peer():
    ours = quality.parse_ours(OUR_SCORES)
    assert ours["reference"]["float32_perplexity"] == 13.801 and ours["latency"]["positions"] == 1785
    rows = quality.make_rows(ours, quality.parse_peer(PEER_SCORES))
    assert [row["what"] for row in rows] == [f"quality, latency path: {name}" for name in ("KL", "perplexity", "top-1 agreement")]
    assert rows[0]["ratio"] == pytest.approx(2.0) and rows[0]["standard_errors"] == {"ours": 0.0001, "peer": 0.0002}
    assert rows[1]["ratio"] < 1 < rows[2]["ratio"]
    assert "0.00200 ± 0.00010 | 0.00400 ± 0.00020 | 2.00 |" in report.table_row({"model": "m", **rows[0]})


def test_an_unfinished_run_of_the_peer_is_no_quality():
    with pytest.raises(common.Refused, match="no statistics"):
        quality.parse_peer("Mean PPL(Q)  : 13.8 ± 0.7\n")
