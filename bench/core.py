"""What every bench shares: alternate runs, the ratio of medians, and the result as it is written."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")
RUNS = 5  # the fewest that a median with a spread is asked of


@dataclass(frozen=True)
class Result:
    """One figure beside its peer's, both medians of the same number of runs. Smaller is better in all benches."""

    name: str
    figure: float
    unit: str
    peer: float
    peer_name: str
    ratio: float  # figure / peer
    goal: float  # the largest ratio that meets it
    met: bool
    ratio_low: float  # of the ratios of single pairs of runs
    ratio_high: float
    runs: tuple[float, ...]
    peer_runs: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Question:
    """What is compared: a figure in `unit` against `peer_name`, and the largest good ratio."""

    name: str
    unit: str
    peer_name: str
    goal: float


def judge(question: Question, ours: list[float], peers: list[float]) -> Result:
    """The result of alternating runs: run i of ours was beside run i of the peer."""
    figure, peer = statistics.median(ours), statistics.median(peers)
    pairs = [a / b for a, b in zip(ours, peers, strict=True)]
    return Result(
        name=question.name,
        figure=figure,
        unit=question.unit,
        peer=peer,
        peer_name=question.peer_name,
        ratio=figure / peer,
        goal=question.goal,
        met=figure / peer <= question.goal,
        ratio_low=min(pairs),
        ratio_high=max(pairs),
        runs=tuple(ours),
        peer_runs=tuple(peers),
    )


def alternate(runs: int, ours: Callable[[], T], peer: Callable[[], T]) -> tuple[list[T], list[T]]:
    """Run A B A B ..., so that a machine that gets busier or warmer does so for both."""
    results: tuple[list[T], list[T]] = ([], [])
    for run in range(runs):
        for side, measure in zip(results, (ours, peer), strict=True):
            side.append(measure())
        progress(f"run {run + 1} of {runs} done")
    return results


def progress(text: str) -> None:
    """One line for the person who waits."""
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()


def render(results: list[Result]) -> list[str]:
    """The results as a table."""
    lines = [f"{'bench':<20} {'figure':>10} {'peer':>10} {'unit':<18} {'ratio':>6} {'low-high':>13} {'goal':>6}  met"]
    for r in results:
        spread = f"{r.ratio_low:.2f}-{r.ratio_high:.2f}"
        lines.append(
            f"{r.name:<20} {r.figure:>10.4g} {r.peer:>10.4g} {r.unit:<18} {r.ratio:>6.2f} {spread:>13} "
            f"{r.goal:>6.2f}  {'yes' if r.met else 'NO'}  (peer: {r.peer_name})"
        )
    return lines
