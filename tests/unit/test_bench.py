"""bench: ratios and spread worked out by hand, taking turns, and what is written when a bench misses or cannot run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bench.__main__ as cli
from bench.core import Question, Result, alternate, judge, render
from dock.errors import DockError

QUESTION = Question("x", "s", "peer of x", 1.3)


def test_ratio_of_medians_with_the_spread_of_pairs() -> None:
    result = judge(QUESTION, [2.0, 4.0, 3.0, 9.0, 1.0], [2.0, 2.0, 2.0, 4.0, 2.0])
    assert (result.figure, result.peer, result.ratio, result.met) == (3.0, 2.0, 1.5, False)
    assert (result.ratio_low, result.ratio_high) == (0.5, 2.25)
    assert (result.runs, result.peer_runs) == ((2.0, 4.0, 3.0, 9.0, 1.0), (2.0, 2.0, 2.0, 4.0, 2.0))


@pytest.mark.parametrize(("ours", "met"), [(1.29, True), (1.3, True), (1.31, False)])
def test_goal_is_the_largest_good_ratio(ours: float, met: bool) -> None:
    assert judge(QUESTION, [ours], [1.0]).met is met


def test_sides_take_turns() -> None:
    calls: list[str] = []
    ours, peers = alternate(3, lambda: calls.append("a") or len(calls), lambda: calls.append("b") or len(calls))
    assert calls == ["a", "b"] * 3
    assert (ours, peers) == ([1, 3, 5], [2, 4, 6])


def test_table_has_a_row_a_result() -> None:
    text = "\n".join(render([judge(QUESTION, [2.0], [1.0])]))
    assert "2.00" in text
    assert "NO" in text
    assert "peer of x" in text


def good(_: int) -> list[Result]:
    return [judge(QUESTION, [1.0], [1.0])]


def slow(_: int) -> list[Result]:
    return [judge(QUESTION, [2.0], [1.0])]


def broken(_: int) -> list[Result]:
    raise DockError("found nothing, need something")


@pytest.mark.parametrize(
    ("names", "code", "written"),
    [(["good"], 0, 1), (["good", "slow"], 1, 2), (["broken", "good"], 2, 1), ([], 2, 2)],
)
def test_exit_code_and_file(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    names: list[str],
    code: int,
    written: int,
) -> None:
    """A bench that cannot run does not keep the others from being written."""
    monkeypatch.setattr(cli, "BENCHES", {"good": good, "slow": slow, "broken": broken})
    output = tmp_path / "reports" / "bench.json"
    assert cli.main([*names, "--output", str(output)]) == code
    rows = json.loads(output.read_text())
    assert len(rows) == written
    assert {"name", "figure", "unit", "peer", "ratio", "goal", "met"} <= set(rows[0])
    assert ("error: bench broken: found nothing" in capsys.readouterr().err) == (code == 2)
    assert [path.name for path in output.parent.iterdir()] == ["bench.json"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["nothing"], "found no bench 'nothing', need one of: startup, client"), (["--runs", "4"], "need at least 5")],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
