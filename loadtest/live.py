"""A run's figures as rows of Locust's own statistics: its terminal table, web page, CSV and HTML report.

Locust knows one kind of row: a count, a distribution of times in ms and the count per second. So each figure is put
where its unit is right, and never into `events.request`: every entry fired there is counted in the Aggregated row too,
which would dilute the request rate, the charts and the fail ratio by the number of tokens.

    POST    /v1/chat/completions     one per request; time = E2E; the only row that Aggregated sums up
    METRIC  TTFT                     one per page; time = time to first token
    METRIC  output token             one per output token; time = ITL (none for the first); req/s = output tokens/s
    METRIC  page                     one per page read to its end; time = E2E; req/s = pages/s

A request's tokens are entered when it ends, each in the second in which it came.
"""

from __future__ import annotations

import time

import locust.stats
from locust.env import Environment
from locust.stats import StatsEntry

from loadtest.client import clock
from loadtest.records import Record, e2e, itl, ttft
from loadtest.summary import Window

METRIC = "METRIC"
PATH = "/v1/chat/completions"
WARMUP = f"{PATH} (warm-up, apart)"
TTFT = "TTFT"
TOKEN = "output token: ITL, req/s = tokens/s"  # noqa: S105  # a row's name, no password
PAGE = "page: E2E, req/s = pages/s"


class LiveRows:
    """Enters records into the statistics of one Locust environment."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._stats = environment.stats
        self._epoch = time.time() - clock()  # turns the records' clock into the wall clock that Locust counts by

    def open(self) -> None:
        """The window opens: what was counted so far was warm-up."""
        self._stats.reset_all()

    def close(self, window: Window) -> None:
        """The run is over. Locust divides by the time of its last request, which may have ended after the window."""
        if window.closed is not None and window.length:
            self._stats.total.last_request_timestamp = window.closed + self._epoch

    def log(self, record: Record, size: int, window: Window) -> None:
        """Enter one finished request of `size` response bytes. `window.closed` is the present while it is open."""
        took = record.end - record.t0 if record.failure else (e2e(record) or 0.0)
        self._environment.events.request.fire(  # type: ignore[no-untyped-call]
            request_type="POST",
            name=WARMUP if record.warmup else PATH,
            response_time=took * 1000,
            response_length=size,
            exception=record.failure or None,
            context={},
        )
        if record.ok and not record.warmup:
            self._row(TTFT, record.end, ttft(record))
        if record.ok and window.holds(record.end):
            self._row(PAGE, record.end, None if record.warmup else e2e(record))
        # A gap that began before the window opened belongs to the warm-up: its token counts, its time does not.
        gaps: list[float | None] = [None, *(None if record.warmup else gap for gap, _ in itl(record))]
        for when, count, gap in zip(record.times, record.counts, gaps, strict=False):
            if window.holds(when):
                self._row(TOKEN, when, gap, count)

    def _row(self, name: str, when: float, seconds: float | None, count: int = 1) -> None:
        entry: StatsEntry = self._stats.entries[(name, METRIC)]
        at = when + self._epoch
        entry.num_requests += count
        entry.num_reqs_per_sec[int(at)] += count
        entry.last_request_timestamp = max(entry.last_request_timestamp or at, at)
        if seconds is None:
            entry.num_none_requests += count
            return
        ms = seconds * 1000
        entry.total_response_time += ms * count  # type: ignore[assignment]  # Locust fires floats into its ints too
        entry.max_response_time = max(entry.max_response_time, ms)  # type: ignore[assignment]
        entry.min_response_time = ms if entry.min_response_time is None else min(entry.min_response_time, ms)  # type: ignore[assignment]
        entry.response_times[fine_bucket(ms)] += count  # type: ignore[index]


def fine_bucket(ms: float) -> float:
    """Three significant digits instead of Locust's two: a gap of 8.4 ms would count as 8."""
    if ms < 100:
        return round(ms, 1)
    return round(ms) if ms < 1000 else float(f"{ms:.3g}")


def use_fine_buckets() -> None:
    """Make Locust's histograms use `fine_bucket`, through the module function that it offers for this."""
    locust.stats.bucket_response_time = fine_bucket  # type: ignore[assignment]
