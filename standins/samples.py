"""Training batches: random pages drawn from the atlas, with what each image token shows and where each character is."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from standins.checkpoint import IM_END, PAD
from standins.layout import COLUMNS, MARGIN_ROWS, Page
from standins.pages import KINDS, generate
from standins.raster import PHASES, Atlas, normalise
from standins.words import TrainWords

BLANK = ord(" ")
IGNORE = -100
SMALLEST = {"plain": 1, "heading": 3, "table": 3, "heading+table": 5}  # text rows


@dataclass
class Batch:
    """B pages of R rows. T is the longest truth and its end token."""

    pixels: Tensor  # [B, 3, R*28, 336]
    ids: Tensor  # [B, T] characters, then <|im_end|>, then padding
    targets: Tensor  # [B, T] the same with IGNORE for padding
    places: Tensor  # [B, T, 2] row and column of each, IGNORE for padding
    shown: Tensor  # [B, R*12, 2] the two characters in each image token


def shown(page: Page, rows: int) -> np.ndarray:
    """[rows*12, 2]: the truth's characters at their places, <|im_end|> where the text ends, blank elsewhere."""
    cells = np.full((rows, COLUMNS), BLANK, dtype=np.int64)
    for char, place in zip([*page.truth.encode(), IM_END], page.places, strict=True):
        cells[place] = char
    return cells.reshape(rows * COLUMNS // 2, 2)


def batch(rng: random.Random, words: TrainWords, atlas: Atlas, rows: int, size: int) -> Batch:
    """`size` random pages of `rows` rows (margin included), moved by up to 1.5 px, a little noise and contrast."""
    kinds = [kind for kind in KINDS if SMALLEST[kind] <= rows - MARGIN_ROWS]
    pages = [generate(rng, words, rng.choice(kinds), rows - MARGIN_ROWS) for _ in range(size)]
    dark = np.stack(
        [
            atlas.draw(page.marks, rows, rng.randrange(len(PHASES)), (rng.randint(-1, 1), rng.randint(-1, 1)))
            for page in pages
        ]
    )
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, 0.02, dark.shape).astype(np.float32)
    dark = np.clip(dark * rng.uniform(0.9, 1.0) + noise, 0, 1)
    length = max(len(page.places) for page in pages)
    ids = np.full((size, length), PAD, dtype=np.int64)
    targets = np.full((size, length), IGNORE, dtype=np.int64)
    places = np.full((size, length, 2), IGNORE, dtype=np.int64)
    for index, page in enumerate(pages):
        count = len(page.places)
        ids[index, :count] = targets[index, :count] = [*page.truth.encode(), IM_END]
        places[index, :count] = page.places
    return Batch(
        torch.from_numpy(normalise(dark)),
        torch.from_numpy(ids),
        torch.from_numpy(targets),
        torch.from_numpy(places),
        torch.from_numpy(np.stack([shown(page, rows) for page in pages])),
    )
