"""One frozen record per request, and the figures that follow from it. Pure.

For a request sent at t0 whose events with tokens came at c_1..c_m with k_1..k_m tokens, N = sum of k:

    TTFT   c_1 - t0
    ITL    (c_i - c_(i-1)) / k_i for i >= 2, once for each of the k_i tokens; pooled over all requests
    TPOT   (c_m - c_1) / (N - k_1); one value a request; with one token in the first event, (c_m - c_1) / (N - 1)
    E2E    c_m - t0; not the usage event or [DONE]

The words differ between tools: what guidellm calls inter-token latency is TPOT here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

CUT = "cut by the end of the run"


@dataclass(frozen=True)
class Record:
    """One request as it went. Times are seconds of one monotonic clock; nothing derived is stored."""

    user: int
    page: str
    request_id: str
    t0: float  # just before the first request byte was written
    end: float  # end of the response, or the fault
    warmup: bool = False  # sent before the measuring window opened
    status: int = 0  # HTTP status; 0 when none came
    failure: str = ""  # one line; empty when the answer is whole
    times: tuple[float, ...] = ()  # of each event with tokens
    counts: tuple[int, ...] = ()  # tokens in each
    finish: str = ""
    prompt_tokens: int | None = None  # the server's usage
    completion_tokens: int | None = None  # the server's usage
    text: str = ""

    @property
    def ok(self) -> bool:
        """The answer is whole."""
        return not self.failure

    @property
    def cut(self) -> bool:
        """Stopped by us at the end of the run: neither good nor the server's fault."""
        return self.failure == CUT

    @property
    def tokens(self) -> int:
        """Output tokens received, by their ids."""
        return sum(self.counts)

    @property
    def miscounted(self) -> bool:
        """The server's usage says another number of output tokens than its events held."""
        return self.ok and self.completion_tokens != self.tokens

    def as_dict(self) -> dict[str, Any]:
        """For JSON. Lossless: Record(**as_dict()) with lists as tuples is the same record."""
        return asdict(self)


def ttft(record: Record) -> float | None:
    """Time to first token in s, or None without a token."""
    return record.times[0] - record.t0 if record.times else None


def itl(record: Record) -> Iterator[tuple[float, int]]:
    """(gap per token in s, number of tokens with it) for every event after the first."""
    for i in range(1, len(record.times)):
        yield (record.times[i] - record.times[i - 1]) / record.counts[i], record.counts[i]


def tpot(record: Record) -> float | None:
    """Time per output token after the first event in s, or None when all tokens came in one event."""
    rest = record.tokens - record.counts[0] if record.counts else 0
    return (record.times[-1] - record.times[0]) / rest if rest else None


def e2e(record: Record) -> float | None:
    """From sending to the last token in s, or None without a token."""
    return record.times[-1] - record.t0 if record.times else None
