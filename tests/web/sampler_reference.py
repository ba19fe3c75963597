"""Temperature, top-k, top-p and min-p once more, from logits on stdin: a JSON object a line in, one a line out."""
import json
import math
import struct
import sys


def as_float32(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def keep(logits: list[float], temperature: float, top_k: int, top_p: float, min_p: float) -> tuple[list[int], dict[str, int]]:
    ranked = sorted(range(len(logits)), key=lambda token: (-logits[token], token))
    counts = {"temperature": len(ranked)}
    if temperature < 1e-3:
        return ranked[:1], dict.fromkeys(("temperature", "top_k", "top_p", "min_p"), 1)
    mass = {token: math.exp((logits[token] - logits[ranked[0]]) / as_float32(temperature)) for token in ranked}
    if top_k:
        ranked = ranked[:top_k]
    counts["top_k"] = len(ranked)
    if top_p < 1:
        wanted, reached, count = as_float32(top_p) * math.fsum(mass[token] for token in ranked), 0.0, 0
        while reached < wanted and count < len(ranked):
            reached += mass[ranked[count]]
            count += 1
        ranked = ranked[:count]
    counts["top_p"] = len(ranked)
    ranked = [token for token in ranked if mass[token] >= as_float32(min_p) * mass[ranked[0]]]
    counts["min_p"] = len(ranked)
    return ranked, counts


def answer(case: dict) -> dict:
    logits = case["logits"]
    kept, counts = keep(logits, case["temperature"], case["top_k"], case["top_p"], case["min_p"])
    scale = as_float32(case["temperature"]) or 1.0
    total = math.fsum(math.exp((logits[token] - max(logits)) / scale) for token in kept)
    after = {token: math.exp((logits[token] - max(logits)) / scale) / total for token in kept}
    below, winner, interval = 0.0, kept[0], None
    for token in sorted(kept):
        winner, interval = token, [below, below + after[token]]
        if interval[1] > case["uniform"]:
            break
        below = interval[1]
    entropy = -sum(share * math.log2(share) for share in after.values())
    return {"counts": counts, "after": after, "winner": winner, "interval": interval, "entropy": entropy}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
