"""The client's own error, against a mock server that stamps each token when it sends it (loadtest/mock.py).

The limits are wide, because this runs on busy two-core machines. They need not be narrow: the fault they guard against,
reading in blocks as FastHttpUser.iter_lines does, is off by several gaps, and the same test shows that it fails them.
"""

from __future__ import annotations

from typing import Any

import pytest

from bench.client import mock, probe


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, Any]]:
    with mock("--ttft", "0.05", "--gap", "0.02", "--tokens", "32") as port:
        return {reader: probe(reader, port, users=4, seconds=1.5) for reader in ("own", "iter-lines")}


def is_accurate(result: dict[str, Any]) -> dict[str, bool]:
    """The two claims: the first token is stamped when it comes, and gaps are those of the server."""
    true_gap = result["true_itl_ms"]["p50"]
    return {
        "ttft": result["ttft_error_ms"]["p50"] < 5.0,
        "itl": abs(result["itl_ms"]["p50"] - true_gap) < 0.2 * true_gap,
    }


def test_schedule_is_what_the_test_needs(measured: dict[str, dict[str, Any]]) -> None:
    """Without gaps of tens of ms in the server there would be nothing to read wrongly."""
    for result in measured.values():
        assert result["streams"] >= 4
        assert 15 < result["true_itl_ms"]["p50"] < 40


def test_own_reader_is_accurate(measured: dict[str, dict[str, Any]]) -> None:
    assert is_accurate(measured["own"]) == {"ttft": True, "itl": True}


def test_reading_in_blocks_would_be_found_out(measured: dict[str, dict[str, Any]]) -> None:
    assert is_accurate(measured["iter-lines"]) == {"ttft": False, "itl": False}
