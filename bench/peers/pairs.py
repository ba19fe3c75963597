"""Two engines alternating: which flags are best for each, pairs of runs, and what they come to.

An engine has a `name`, `supports(case)`, `variants(case, max_threads)` (flags to choose from) and
`measure(case, subject, flags)`, which gives a figure for each metric of the case by its name, or raises Refused.
"""
import json
import statistics

from common import Refused, VITRINE, output_of

LARGEST_DRIFT = 1.15  # of the bandwidth within a pair
BANDWIDTH_MIB = 96


def read_bandwidth(threads):
    answer = output_of([VITRINE, "bench", "machine", "--threads", threads, "--size", BANDWIDTH_MIB, "--json"])
    return json.loads(answer)["reads"][0]["bytes_per_s"]


def is_better(metric, first, second):
    return first < second if metric.lower_is_better else first > second


def best_flags(engine, case, subject, max_threads):
    """Those with which the first metric is best; Refused where none of them work."""
    variants = engine.variants(case, max_threads)
    if len(variants) == 1:
        return variants[0]
    deciding = case.metrics()[0]
    best, best_figure, refusal = None, None, None
    for flags in variants:
        try:
            figure = engine.measure(case, subject, flags)[deciding.name]
        except Refused as error:
            refusal = error
            continue
        if best is None or is_better(deciding, figure, best_figure):
            best, best_figure = flags, figure
    if best is None:
        raise refusal
    return best


def is_counted(bandwidths):
    return max(bandwidths) <= LARGEST_DRIFT * min(bandwidths)


def measure_pair(case, subject, engines, threads):
    """One run of each engine, with the bandwidth before, between and after."""
    bandwidths, figures = [read_bandwidth(threads)], {}
    for engine, flags in engines:
        figures[engine.name] = engine.measure(case, subject, flags)
        bandwidths.append(read_bandwidth(threads))
    return {"figures": figures, "read_bytes_per_s": bandwidths, "counted": is_counted(bandwidths)}


def compare(case, subject, ours, peer, options):
    """Rows, one for each metric of the case."""
    try:
        engines = [(engine, best_flags(engine, case, subject, options.threads)) for engine in (ours, peer)]
        pairs = []
        while sum(pair["counted"] for pair in pairs) < options.pairs and len(pairs) < 3 * options.pairs:
            turn = engines if len(pairs) % 2 == 0 else engines[::-1]
            pairs.append(measure_pair(case, subject, turn, options.threads))
    except Refused as refusal:
        return [{"what": case.name, "peer_name": peer.name, "refused": str(refusal)}]
    flags = {"ours": engines[0][1], "peer": engines[1][1]}
    return [make_row(case, metric, pairs, ours.name, peer.name, flags) for metric in case.metrics()]


def make_row(case, metric, pairs, our_name, peer_name, flags):
    runs = [{"ours": pair["figures"][our_name][metric.name], "peer": pair["figures"][peer_name][metric.name],
             "read_bytes_per_s": pair["read_bytes_per_s"], "counted": pair["counted"]} for pair in pairs]
    row = {"what": f"{case.name}, {metric.name}" if metric.name else case.name, "unit": metric.unit, "peer_name": peer_name,
           "lower_is_better": metric.lower_is_better, "flags": flags, "ours": None, "peer": None, "ratio": None, "runs": runs}
    counted = [run for run in runs if run["counted"]]
    if counted:
        row["ours"], row["peer"] = (statistics.median(run[side] for run in counted) for side in ("ours", "peer"))
        row["ratio"] = statistics.median(times_as_good(metric.lower_is_better, run["ours"], run["peer"]) for run in counted)
    return row


def times_as_good(lower_is_better, ours, peer):
    """More is better, for times too."""
    return peer / ours if lower_is_better else ours / peer
