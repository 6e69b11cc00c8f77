"""The pages that the stand-in is judged by: every word on them is one that training never saw."""

from __future__ import annotations

import random

from standins.layout import Page
from standins.pages import KINDS, generate
from standins.raster import PX_TO_PT
from standins.words import test_words

SEED = 2601


def test_set(count: int, seed: int = SEED) -> tuple[list[Page], list[tuple[float, float]]]:
    """`count` pages of test words, the kinds in turn, and their shifts (up to 1 px of the shrunk page), in pt."""
    rng, words = random.Random(seed), test_words()  # noqa: S311  (reproducible data, not a secret)
    pages = [generate(rng, lambda: rng.choice(words), KINDS[index % len(KINDS)]) for index in range(count)]
    shifts = [(rng.uniform(-PX_TO_PT, PX_TO_PT), rng.uniform(-PX_TO_PT, PX_TO_PT)) for _ in pages]
    return pages, shifts
