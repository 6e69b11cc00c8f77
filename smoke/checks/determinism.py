"""`determinism`: the same greedy request, alone on the server, gives the same token ids every time."""

from __future__ import annotations

from smoke.result import Result, judge
from smoke.run import DEMO_PAGE, Run


def check(run: Run) -> Result:
    """Read the demo page `repeats` times, one after the other, and compare the ids of all runs with the first."""
    repeats = run.plan["limits"]["repeats"]
    first = run.read(DEMO_PAGE).ids
    others = [run.read_again(DEMO_PAGE).ids for _ in range(repeats - 1)]
    differing = [(number, ids) for number, ids in enumerate(others, 2) if ids != first]
    saw = f"{repeats} runs with the same {len(first)} ids"
    if differing:
        number, ids = differing[0]
        saw = f"run {number} departs from run 1 at position {_departure(first, ids)}"
    evidence = judge(
        "equal ids",
        bool(first) and not differing,
        saw=saw if first else "no token at all",
        wanted=f"{repeats} runs with the same ids",
        why="greedy decoding of one request alone leaves nothing to chance",
    )
    return Result("determinism", (evidence,))


def _departure(first: tuple[int, ...], other: tuple[int, ...]) -> int:
    pairs = enumerate(zip(first, other, strict=False))
    return next((position for position, (a, b) in pairs if a != b), min(len(first), len(other)))
