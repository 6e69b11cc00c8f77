"""Pages to pixels: the true path (PDF, pdfium, shrink), and a fast one for training that adds up drawn cells.

Shrinking is linear, so the darkness of a page is the sum of the darkness of its marks: an atlas of every mark, itself
taken through the true path, is enough to draw a page in a millisecond.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pypdfium2  # type: ignore[import-untyped]
from PIL import Image

from standins.checkpoint import IMAGE_MEAN, IMAGE_STD, LONGEST_EDGE
from standins.layout import BOTTOM, COLUMNS, HEIGHT_PT, ROWS, RULE, TOP, UNDERLINE, VERTICAL, WIDTH_PT, Mark, Page
from standins.pdf import write_pdf

DPI, RENDER_EDGE = 200, 1540
CELL_W, CELL_H, BLEED = 14, 28, 4
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,"
MARKS = (*CHARACTERS, UNDERLINE, RULE, VERTICAL, TOP, BOTTOM)
PHASES = ((0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.5, 0.5))  # shifts right and down, px of the shrunk page
PX_TO_PT = HEIGHT_PT / LONGEST_EDGE
Floats = npt.NDArray[np.float32]


def render(pdf: bytes) -> list[Image.Image]:
    """Each sheet at 200 DPI, longest side capped at 1540 px: what the client sends to the server."""
    document = pypdfium2.PdfDocument(pdf)
    try:
        scale = min(DPI / 72, RENDER_EDGE / max(WIDTH_PT, HEIGHT_PT))
        return [page.render(scale=scale).to_pil().convert("RGB") for page in document]
    finally:
        document.close()


def darkness(image: Image.Image) -> Floats:
    """[448, 336], 0 = white, 1 = black: the processor's bicubic shrink to the longest edge of 448 px."""
    size = (round(image.width * LONGEST_EDGE / image.height), LONGEST_EDGE)
    shrunk = image.convert("L").resize(size, Image.Resampling.BICUBIC)
    return np.asarray(1.0 - np.asarray(shrunk, dtype=np.float32) / 255.0, dtype=np.float32)


def normalise(dark: Floats) -> Floats:
    """[..., H, W] darkness to [..., 3, H, W] pixel values with CLIP's mean and standard deviation."""
    mean, std = (np.asarray(v, dtype=np.float32)[:, None, None] for v in (IMAGE_MEAN, IMAGE_STD))
    out: Floats = ((1.0 - dark[..., None, :, :]) - mean) / std
    return out


class Atlas:
    """Every mark as a tile of darkness at each phase: [phase][mark] -> [28 + 2*4, 14 + 2*4]."""

    def __init__(self) -> None:
        # Every third column and second row, so that no mark reaches into the next one's tile.
        slots = [(row, column) for row in range(1, ROWS - 1, 2) for column in range(1, COLUMNS - 1, 3)]
        pages: list[Page] = []
        where: dict[str, tuple[int, int, int]] = {}
        for index, what in enumerate(MARKS):
            sheet, slot = divmod(index, len(slots))
            if slot == 0:
                pages.append(Page("atlas"))
            pages[sheet].marks.append(Mark(*slots[slot], what))
            where[what] = (sheet, *slots[slot])
        self.tiles: list[dict[str, Floats]] = []
        for right, down in PHASES:
            shift = (right * PX_TO_PT, down * PX_TO_PT)
            sheets = [darkness(image) for image in render(write_pdf(pages, [shift] * len(pages)))]
            self.tiles.append(
                {
                    what: sheets[sheet][
                        row * CELL_H - BLEED : (row + 1) * CELL_H + BLEED,
                        column * CELL_W - BLEED : (column + 1) * CELL_W + BLEED,
                    ].copy()
                    for what, (sheet, row, column) in where.items()
                }
            )

    def draw(self, marks: Sequence[Mark], rows: int, phase: int = 0, shift: tuple[int, int] = (0, 0)) -> Floats:
        """Darkness [rows*28, 336] of the first `rows` rows; `shift` moves by whole pixels (right, down), at most 3."""
        pad = BLEED + 3
        canvas = np.zeros((rows * CELL_H + 2 * pad, COLUMNS * CELL_W + 2 * pad), dtype=np.float32)
        tiles = self.tiles[phase]
        for mark in marks:
            top, left = mark.row * CELL_H + shift[1] + pad - BLEED, mark.column * CELL_W + shift[0] + pad - BLEED
            canvas[top : top + CELL_H + 2 * BLEED, left : left + CELL_W + 2 * BLEED] += tiles[mark.what]
        return np.clip(canvas[pad:-pad, pad:-pad], 0.0, 1.0)
