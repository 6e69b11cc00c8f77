"""loadtest.records, outcome and summary: every figure against an answer worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from loadtest.client import Exchange
from loadtest.outcome import Ticket, to_record
from loadtest.records import CUT, Record, e2e, itl, tpot, ttft
from loadtest.summary import EXIT_CODES, Window, needed, quantile, spread, summarise, verdict

# Sent at 10; one token at 10.5, two at 10.7 (merged), one at 11.0; the stream ended at 11.1.
RECORD = Record(
    user=1,
    page="a.pdf#1",
    request_id="x",
    t0=10.0,
    end=11.1,
    status=200,
    times=(10.5, 10.7, 11.0),
    counts=(1, 2, 1),
    finish="stop",
    prompt_tokens=9,
    completion_tokens=4,
    text="abcd",
)
ONE_EVENT = replace(RECORD, times=(10.5,), counts=(4,))
NOTHING = replace(RECORD, times=(), counts=(), failure="HTTP 503: x", completion_tokens=None)


def test_times_of_one_request() -> None:
    assert ttft(RECORD) == pytest.approx(0.5)
    assert list(itl(RECORD)) == [(pytest.approx(0.1), 2), (pytest.approx(0.3), 1)]
    assert tpot(RECORD) == pytest.approx(0.5 / 3)
    assert e2e(RECORD) == pytest.approx(1.0)  # not 1.1: the usage event and [DONE] are no output
    assert RECORD.tokens == 4


def test_times_of_an_answer_in_one_event() -> None:
    assert (ttft(ONE_EVENT), tpot(ONE_EVENT), list(itl(ONE_EVENT))) == (pytest.approx(0.5), None, [])


def test_times_without_a_token() -> None:
    assert (ttft(NOTHING), tpot(NOTHING), list(itl(NOTHING)), e2e(NOTHING)) == (None, None, [], None)


def test_usage_that_disagrees_is_a_finding_and_no_failure() -> None:
    assert not RECORD.miscounted
    wrong = replace(RECORD, completion_tokens=5)
    assert wrong.miscounted
    assert wrong.ok
    assert replace(RECORD, completion_tokens=None).miscounted
    assert not NOTHING.miscounted


def test_record_survives_json() -> None:
    again = json.loads(json.dumps(RECORD.as_dict()))
    assert Record(**again | {"times": tuple(again["times"]), "counts": tuple(again["counts"])}) == RECORD


@pytest.mark.parametrize(("q", "n"), [(0.5, 6), (0.95, 72), (0.99, 368), (0.999, 3688)])
def test_quantile_needs_so_many_values(q: float, n: int) -> None:
    """The counts that are known for a two-sided 95 % interval."""
    assert needed(q) == n


@pytest.mark.parametrize(("q", "value"), [(0.5, 3), (0.01, 1), (0.2, 1), (0.21, 2), (0.8, 4), (0.81, 5), (1.0, 5)])
def test_quantile_is_an_observed_value(q: float, value: int) -> None:
    assert quantile([(v, 1) for v in (1, 2, 3, 4, 5)], q) == value


def test_quantile_counts_weights() -> None:
    assert quantile([(1.0, 9), (2.0, 1)], 0.9) == 1.0
    assert quantile([(1.0, 9), (2.0, 1)], 0.91) == 2.0


def test_spread_is_weighted_in_ms_and_hides_what_it_cannot_know() -> None:
    assert spread([(0.001, 99), (0.101, 1)]) == {"n": 100, "mean": 2.0, "p50": 1.0, "p95": 1.0, "p99": None}
    assert spread([(0.5, 5)]) == {"n": 5, "mean": 500.0, "p50": None, "p95": None, "p99": None}
    assert spread([]) == {"n": 0, "mean": None, "p50": None, "p95": None, "p99": None}


def test_window() -> None:
    window = Window(10.0, 20.0)
    assert window.length == 10
    assert [window.holds(when) for when in (9.9, 10.0, 20.0, 20.1)] == [False, True, True, False]
    assert [window.overlap(*span) for span in ((5, 12), (12, 15), (15, 30), (1, 2), (1, 99))] == [2, 3, 5, 0, 10]
    for never in (Window(None, None), Window(None, 5.0), Window(5.0, None)):
        assert (never.length, never.holds(5.0), never.overlap(0, 9)) == (0, False, 0)


def test_summary_of_a_small_run() -> None:
    """Warm-up, a request over the window's end, a failed one and a cut one: each counted where it belongs."""
    warmup = replace(RECORD, warmup=True, t0=9.0, times=(9.4, 10.1), counts=(1, 1), end=10.2)
    late = replace(RECORD, t0=11.5, times=(12.5, 13.0), counts=(1, 3), end=13.1, finish="length")
    failed = replace(NOTHING, t0=11.0, end=11.5)
    cut = replace(RECORD, t0=11.9, times=(11.95,), counts=(1,), end=20.0, failure=CUT)
    summary = summarise([warmup, RECORD, late, failed, cut], Window(10.0, 12.0))
    assert summary["requests"] == {"sent": 3, "ok": 2, "failed": 1, "cut": 1, "warmup": 1, "warmup_failed": 0}
    assert summary["verdict"] == "fail"
    assert summary["window_s"] == 2.0
    # In the window: the warm-up's second token and end, all of RECORD, the cut request's token; nothing of `late`.
    assert summary["output_tokens_per_s"] == pytest.approx((1 + 4 + 1) / 2)
    assert summary["pages_finished_in_window"] == 2
    assert summary["pages_per_s"] == pytest.approx(1.0)
    assert summary["mean_concurrency"] == pytest.approx((0.2 + 1.1 + 0.5 + 0.5 + 0.1) / 2)
    # Latencies: RECORD and `late`, which was sent inside the window and ended after it.
    assert summary["ttft_ms"] == {"n": 2, "mean": pytest.approx(750.0), "p50": None, "p95": None, "p99": None}
    assert summary["itl_ms"]["n"] == 3 + 3
    assert summary["e2e_ms"]["mean"] == pytest.approx(1250.0)
    assert summary["output_tokens_per_page"] == 4
    assert (summary["truncated"], summary["miscounted"]) == (1, 0)
    assert summary["failures"] == {"HTTP 503: x": 1}


@pytest.mark.parametrize(
    ("records", "word", "code"),
    [
        ([RECORD], "pass", 0),
        ([RECORD, replace(RECORD, failure=CUT)], "pass", 0),
        ([RECORD, replace(NOTHING, warmup=True)], "fail", 1),
        ([NOTHING], "fail", 1),
        ([], "void", 2),
        ([replace(RECORD, warmup=True)], "void", 2),
        ([replace(RECORD, failure=CUT)], "void", 2),
    ],
)
def test_verdict_and_exit_code(records: list[Record], word: str, code: int) -> None:
    summary = summarise(records, Window(0.0, 99.0))
    assert summary["verdict"] == word
    assert EXIT_CODES[word] == code


def test_verdict_asks_for_an_answer_sent_in_the_window() -> None:
    assert verdict([RECORD], []) == "void"


def test_run_that_never_opened_has_no_figures() -> None:
    summary = summarise([replace(RECORD, warmup=True)], Window(None, 12.0))
    assert summary["pages_per_s"] is summary["output_tokens_per_s"] is summary["mean_concurrency"] is None


STREAM = (
    b'data: {"choices": [{"delta": {"content": "a"}, "token_ids": [1]}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
)
SSE = {"content-type": "text/event-stream; charset=utf-8"}
JSON = {"content-type": "application/json"}
TICKET = Ticket(1, "p", "id")


def exchange(status: int, headers: dict[str, str], body: bytes) -> Exchange:
    return Exchange(1.0, 3.0, status, headers, [(2.0, body)] if body else [])


@pytest.mark.parametrize(
    ("done", "fault", "failure", "tokens"),
    [
        (exchange(200, SSE, STREAM), "", "", 1),
        (exchange(200, SSE, STREAM[:-20]), "connection closed", "connection closed", 1),
        (exchange(200, SSE, STREAM[:-20]), "", "stream cut short: it ended without [DONE]", 1),
        (exchange(0, {}, b""), "connection failed: refused", "connection failed: refused", 0),
        (exchange(503, JSON, b'{"error": {"message": "no\\nengine"}}'), "", "HTTP 503: no engine", 0),
        (exchange(502, {}, b"<html>bad gateway</html>"), "", "HTTP 502: <html>bad gateway</html>", 0),
        (exchange(500, JSON, b'{"error": "text"}'), "", 'HTTP 500: {"error": "text"}', 0),
        (
            exchange(200, JSON, b'{"error": {}}'),
            "",
            "answered application/json and no event stream: b'{\"error\": {}}'",
            0,
        ),
    ],
)
def test_outcome_of_an_exchange(done: Exchange, fault: str, failure: str, tokens: int) -> None:
    record = to_record(done, TICKET, fault)
    assert (record.failure, record.tokens, record.status) == (failure, tokens, done.status)
    assert (record.t0, record.end, record.user, record.page, record.request_id) == (1.0, 3.0, 1, "p", "id")


def test_request_id_of_the_server_wins() -> None:
    """A gateway that gives ids of its own writes these into its log."""
    assert to_record(exchange(200, SSE | {"x-request-id": "theirs"}, STREAM), TICKET).request_id == "theirs"
