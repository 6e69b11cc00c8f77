"""From records to the figures of a run. Pure.

Window: from `opened` (all users are there and each has had one answer) to `closed` (the run is told to stop). Rates
count what happened inside it, whichever request it belongs to, so nothing is lost or won at its edges. Latencies come
from the requests that were *sent* inside it, also when they end after it: dropping those would drop the long ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.records import Record, e2e, itl, tpot, ttft

SCHEMA = 1
QUANTILES = (0.5, 0.95, 0.99)
EXIT_CODES = {"pass": 0, "fail": 1, "void": 2}


@dataclass(frozen=True)
class Window:
    """The measuring window in s of the records' clock; None where it was not reached."""

    opened: float | None
    closed: float | None

    @property
    def length(self) -> float:
        """Seconds; 0 when the window never opened."""
        return max(0.0, self.closed - self.opened) if self.opened is not None and self.closed is not None else 0.0

    def holds(self, when: float) -> bool:
        """`when` lies inside."""
        return self.opened is not None and self.closed is not None and self.opened <= when <= self.closed

    def overlap(self, start: float, end: float) -> float:
        """Seconds of [start, end] inside."""
        if self.opened is None or self.closed is None:
            return 0.0
        return max(0.0, min(end, self.closed) - max(start, self.opened))


def summarise(records: Sequence[Record], window: Window) -> dict[str, Any]:
    """All figures of a run, ready for JSON. Times in ms, rates per s; None where the run says nothing."""
    measured = [record for record in records if not record.warmup and not record.cut]
    good = [record for record in measured if record.ok]
    finished = sum(record.ok and window.holds(record.end) for record in records)
    tokens = sum(k for record in records for c, k in zip(record.times, record.counts, strict=True) if window.holds(c))
    return {
        "schema": SCHEMA,
        "verdict": verdict(records, good),
        "window_s": window.length,
        "requests": {
            "sent": len(measured),
            "ok": len(good),
            "failed": len(measured) - len(good),
            "cut": sum(record.cut for record in records),
            "warmup": sum(record.warmup and not record.cut for record in records),
            "warmup_failed": sum(record.warmup and not record.ok and not record.cut for record in records),
        },
        "pages_finished_in_window": finished,
        "pages_per_s": _ratio(finished, window.length) if finished else None,
        "output_tokens_per_s": _ratio(tokens, window.length),
        "mean_concurrency": _ratio(sum(window.overlap(r.t0, r.end) for r in records), window.length),
        "ttft_ms": spread((value, 1) for value in map(ttft, good) if value is not None),
        "itl_ms": spread(gap for record in good for gap in itl(record)),
        "tpot_ms": spread((value, 1) for value in map(tpot, good) if value is not None),
        "e2e_ms": spread((value, 1) for value in map(e2e, good) if value is not None),
        "output_tokens_per_page": _ratio(sum(record.tokens for record in good), len(good)),
        "prompt_tokens_per_page": _ratio(sum(record.prompt_tokens or 0 for record in good), len(good)),
        "truncated": sum(record.finish == "length" for record in good),
        "miscounted": sum(record.miscounted for record in good),
        "failures": dict(Counter(r.failure for r in records if not r.ok and not r.cut).most_common()),
    }


def verdict(records: Iterable[Record], good: Sequence[Record]) -> str:
    """`fail` when any request failed, warm-up too; `void` when none of the window had an answer; else `pass`."""
    if any(not record.ok and not record.cut for record in records):
        return "fail"
    return "pass" if good else "void"


def spread(values: Iterable[tuple[float, int]]) -> dict[str, float | int | None]:
    """Count, mean and quantiles in ms of (value in s, how often)."""
    pairs = sorted(values)
    count = sum(often for _, often in pairs)
    total = sum(value * often for value, often in pairs)
    result: dict[str, float | int | None] = {"n": count, "mean": _ms(total / count) if count else None}
    for q in QUANTILES:
        result[f"p{q * 100:g}"] = _ms(quantile(pairs, q)) if count >= needed(q) else None
    return result


def needed(q: float) -> int:
    """How many values the two-sided 95 % interval of quantile `q` needs to exist: n >= ln 0.025 / ln max(q, 1-q).

    With fewer, the largest of all is no upper bound of the quantile, and no figure is better than a wrong one.
    """
    return math.ceil(math.log(0.025) / math.log(max(q, 1 - q)))


def quantile(pairs: Sequence[tuple[float, int]], q: float) -> float:
    """The smallest value that at least a fraction `q` does not exceed; `pairs` are sorted (value, how often)."""
    rank = math.ceil(q * sum(often for _, often in pairs))
    for value, often in pairs:
        rank -= often
        if rank <= 0:
            return value
    raise ValueError("quantile of nothing")


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
