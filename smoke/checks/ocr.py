"""`ocr`: pages with known text are read right, to their end, and without a loop."""

from __future__ import annotations

from dock.text import cer, corpus_cer, repetition_tail
from smoke.client import Reading
from smoke.result import Evidence, Result, judge
from smoke.run import Run


def check(run: Run) -> Result:
    """Character error rate over all pages read (see dock.text.corpus_cer), empty pages, truncation and repetition."""
    names = [run.corpus.pages[index].name for index in run.wanted_pages()]
    truths = [run.corpus.truths[index] for index in run.wanted_pages()]
    readings = [run.read(index) for index in run.wanted_pages()]
    limits = run.plan["limits"]
    evidence = (
        _errors(names, truths, readings, limits["cer"]),
        _empty(names, readings),
        _ends(names, readings),
        _loops(names, readings, limits["repetition"]),
    )
    return Result("ocr", evidence)


def _errors(names: list[str], truths: list[str], readings: list[Reading], limit: float) -> Evidence:
    pairs = [(truth, reading.text) for truth, reading in zip(truths, readings, strict=True)]
    rate = corpus_cer(pairs)
    worst, name = max((cer(*pair), name) for pair, name in zip(pairs, names, strict=True))
    return judge(
        "character error rate",
        rate <= limit,
        saw=f"{rate:.2%} over {len(names)} page(s), worst {worst:.2%} on {name}",
        wanted=f"at most {limit:.2%}",
        why="edits / characters of the known text, both normalised",
    )


def _empty(names: list[str], readings: list[Reading]) -> Evidence:
    bad = [name for name, one in zip(names, readings, strict=True) if not any(c.isalnum() for c in one.text)]
    return judge(
        "text on every page",
        not bad,
        saw=", ".join(bad) + " without a letter or digit" if bad else f"{len(names)} page(s) with text",
        wanted="letters or digits on every page",
        why="an empty answer repeats nothing and ends well",
    )


def _ends(names: list[str], readings: list[Reading]) -> Evidence:
    bad = [
        f"{name}: {one.finish_reason}" for name, one in zip(names, readings, strict=True) if one.finish_reason != "stop"
    ]
    return judge(
        "no page cut short",
        not bad,
        saw="; ".join(bad) if bad else f"{len(names)} page(s) ended with stop",
        wanted="finish_reason stop on every page",
        why="`length` is a page cut short, `repetition` a loop that the engine broke",
    )


def _loops(names: list[str], readings: list[Reading], limit: int) -> Evidence:
    count, name = max((repetition_tail(one.text), name) for one, name in zip(readings, names, strict=True))
    return judge(
        "no loop at the end",
        count <= limit,
        saw=f"last characters stand {count} times in a row at most ({name})",
        wanted=f"at most {limit} times",
        why="loops are the most frequent fault of OCR models",
    )
