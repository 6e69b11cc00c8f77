"""`tokens`: the server's greedy ids are the float32 baseline's, up to near-ties that bfloat16's own noise explains."""

from __future__ import annotations

from smoke.compare import PageBaseline, first_divergence, prompt_difference
from smoke.result import Evidence, Result, judge
from smoke.run import Run
from smoke.store import Baseline, BaselineRefusedError


def check(run: Run) -> Result:
    """Compare every page that was read and that the baseline covers. The rule stands in `smoke.compare`."""
    try:
        baseline = run.baseline()
    except BaselineRefusedError as error:
        why = "the class loads without an error when a part is missing, so every tensor is counted"
        return Result(
            "tokens", (judge("baseline", False, saw=error, wanted="a checkpoint that fits its class", why=why),)
        )
    names = [page.name for page in run.corpus.pages]
    evidence = [_baseline(baseline, run.plan["baseline"]["class"])]
    for index in run.wanted_pages():
        if names[index] in baseline.pages:
            page, reading = baseline.pages[names[index]], run.read(index)
            evidence.append(_prompt(page, reading.prompt_ids))
            if evidence[-1].verdict == "pass":
                evidence.append(_path(page, reading.ids, baseline.floor))
    return Result("tokens", tuple(evidence))


def _baseline(baseline: Baseline, wanted: str) -> Evidence:
    versions = baseline.made["versions"]
    return judge(
        "baseline",
        baseline.kind == wanted,
        saw=f"{baseline.kind}, torch {versions['torch']}, transformers {versions['transformers']}, "
        f"noise floor {baseline.floor:.4f} logits over {len(baseline.pages)} page(s)",
        wanted=f"{wanted}, every tensor of the checkpoint in it",
        why="another class leaves the vision part random, and text alone does not show it",
    )


def _prompt(page: PageBaseline, saw: tuple[int, ...]) -> Evidence:
    difference = prompt_difference(page.prompt_ids, saw)
    rows, columns = page.grid
    return judge(
        f"prompt ids of {page.name}",
        difference is None,
        saw=difference or f"{len(saw)} equal ids, {rows} x {columns} image tokens",
        wanted=f"the baseline's {len(page.prompt_ids)} ids",
        why="answers to different prompts cannot be compared",
    )


def _path(page: PageBaseline, ids: tuple[int, ...], floor: float) -> Evidence:
    divergence = first_divergence(page, ids)
    good = divergence is None or divergence.near_tie(floor)
    saw = f"all {len(page.ids)} ids equal"
    if divergence:
        margin = "none" if divergence.margin is None else f"{divergence.margin:.4f}"
        saw = (
            f"{divergence.position} of {len(page.ids)} ids equal, then {divergence.saw} in place of "
            f"{divergence.wanted}; float32's second choice is {divergence.second}, its margin {margin}"
        )
    return judge(
        f"path of {page.name}",
        good,
        saw=saw,
        wanted=f"equal ids, or float32's second choice at a margin below {floor:.4f}",
        why="bfloat16 may turn a near-tie and nothing else",
    )
