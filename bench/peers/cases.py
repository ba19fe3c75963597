"""What is measured."""
import dataclasses

CONCURRENCIES = (1, 8, 32)


@dataclasses.dataclass(frozen=True)
class Metric:
    """One figure of a run; `name` is empty where there is but one."""

    name: str
    unit: str
    lower_is_better: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """Prompt or generated tokens on top of `depth` tokens, in `batch` sequences at once; or a phase of its own."""

    name: str
    phase: str  # prefill, decode, start, load, load again, serve
    tokens: int = 0
    depth: int = 0
    batch: int = 1
    kv_type: str = "f16"

    def metrics(self):
        """The first decides which flags are best."""
        if self.phase == "serve":
            return serve_metrics()
        if self.phase in ("prefill", "decode"):
            return (Metric("", "tokens/s"),)
        return (Metric("", "s", lower_is_better=True),)


def serve_metrics():
    metrics = []
    for concurrency in sorted(CONCURRENCIES, key=lambda count: count != 8):
        metrics += [Metric(f"{concurrency} at once", "tokens/s"),
                    Metric(f"{concurrency} at once, TTFT p50", "s", lower_is_better=True),
                    Metric(f"{concurrency} at once, ITL p99", "s", lower_is_better=True)]
    return tuple(metrics)


MODEL_CASES = (
    Case("prefill 512", "prefill", 512),
    Case("prefill 4096", "prefill", 4096),
    Case("decode", "decode", 128),
    Case("decode at 4096", "decode", 32, depth=4096),
    Case("16 sequences", "decode", 32, depth=512, batch=16),
    Case("32 sequences", "decode", 32, depth=512, batch=32),
    Case("32 sequences, q8_0 KV", "decode", 32, depth=512, batch=32, kv_type="q8_0"),
    Case("start to first token", "start", 1),
    Case("load", "load"),
    Case("load again", "load again"),
    Case("serve", "serve", 64),
)
