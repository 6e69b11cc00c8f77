"""CER of a written checkpoint on pages of words that training never saw, through the true path and `transformers`."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from dock.text import corpus_cer
from standins.baseline import load
from standins.pages import KINDS
from standins.pdf import write_pdf
from standins.raster import render
from standins.testset import test_set

GOAL = 0.05
BATCH = 4  # transformers runs the images of a batch as one sequence: quadratic in this number


@dataclass(frozen=True)
class Score:
    """CER over one kind of page."""

    kind: str
    pages: int
    cer: float
    exact: int  # pages read without any error, line breaks included


def evaluate(folder: Path, count: int, *, bf16: bool) -> list[Score]:
    """Scores for each kind and for all (the last one); greedy, float32 or BF16 arithmetic."""
    model = load(folder, torch.bfloat16 if bf16 else torch.float32)
    pages, shifts = test_set(count)
    images = render(write_pdf(pages, shifts))
    read: list[str] = []
    began = time.monotonic()
    for at in range(0, count, BATCH):
        read += model.read(images[at : at + BATCH])
        print(f"\r{len(read)}/{count} pages, {time.monotonic() - began:.0f} s", end="", file=sys.stderr)  # noqa: T201
    print(file=sys.stderr)  # noqa: T201
    scores = []
    for kind in (*KINDS, "all"):
        pairs = [(p.truth, text) for p, text in zip(pages, read, strict=True) if kind in (p.kind, "all")]
        if pairs:
            exact = sum(truth == text for truth, text in pairs)
            scores.append(Score(kind, len(pairs), corpus_cer(pairs), exact))
    return scores
