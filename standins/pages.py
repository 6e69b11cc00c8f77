"""Random pages: headings, lines of words and digits, small tables; and the Markdown that is on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from standins.layout import BOTTOM, RULE, TEXT_COLUMNS, TEXT_ROWS, TOP, UNDERLINE, VERTICAL, Page

KINDS = ("plain", "heading", "table", "heading+table")
MAX_LINES = 8
Picker = Callable[[], str]


def number(rng: random.Random) -> str:
    """One to five random digits, or a decimal number with two places."""
    if rng.random() < 0.2:
        return f"{rng.randint(0, 99)}.{rng.randint(0, 99):02d}"
    return "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 5)))


def line(rng: random.Random, word: Picker, limit: int = TEXT_COLUMNS) -> str:
    """Words and numbers with single spaces, at most `limit` characters, at least one token."""
    target = rng.randint(3, limit)
    tokens: list[str] = []
    while True:
        token = number(rng) if rng.random() < 0.25 else word()
        if rng.random() < 0.2:
            token = token.capitalize()
        if rng.random() < 0.1:
            token += rng.choice(".,")
        text = " ".join([*tokens, token])
        if len(text) > limit:
            if tokens:
                return " ".join(tokens)
            continue
        tokens.append(token)
        if len(text) >= target:
            return text


def heading(page: Page, row: int, title: str) -> int:
    """A title with a rule under it and a blank row below; returns the next free row."""
    page.write("# ", row, 0, drawn=False)
    page.write(title, row, 2)
    page.rule(UNDERLINE, row, range(2, 2 + len(title)))
    page.write("\n", row, 2 + len(title))
    page.write("\n", row + 1, 0)
    return row + 2


def table(page: Page, row: int, cells: Sequence[Sequence[str]]) -> int:
    """A ruled table, first row as its header, columns as wide as their widest cell; returns the next free row."""
    widths = [max(3, *(len(text) for text in column)) for column in zip(*cells, strict=True)]
    bars = [0]
    for width in widths:
        bars.append(bars[-1] + width + 3)
    for index, texts in enumerate([cells[0], ["---"] * len(widths), *cells[1:]]):
        at, separator = row + index, index == 1
        for bar, text, following in zip(bars, texts, bars[1:], strict=False):
            page.write("|", at, bar, drawn=False)
            page.write(" " + text, at, bar + 1, drawn=not separator)
            page.write(" ", at, following - 1 if separator else bar + 2 + len(text), drawn=False)
        page.write("|", at, bars[-1], drawn=False)
        page.write("\n", at, bars[-1] + 1)
        for bar in bars:
            page.rule(VERTICAL, at, range(bar, bar + 1))
    inner = range(bars[-1] + 1)
    page.rule(TOP, row, inner)
    page.rule(RULE, row + 1, inner)
    page.rule(BOTTOM, row + len(cells), inner)
    return row + len(cells) + 1


def _table_cells(rng: random.Random, word: Picker, body: int) -> list[list[str]]:
    columns = rng.choice((2, 2, 3))
    limit = (TEXT_COLUMNS - 1) // columns - 3

    def short() -> str:
        while len(text := number(rng) if rng.random() < 0.5 else word()) > limit:
            pass
        return text

    def title() -> str:
        while len(text := word()) > limit:
            pass
        return text.capitalize()

    return [[title() for _ in range(columns)], *([short() for _ in range(columns)] for _ in range(body))]


def finish(page: Page) -> Page:
    """Drop the line breaks at the end of the truth; the place of the first of them is where the text ends."""
    length = len(page.truth.rstrip("\n"))
    page.truth, page.places = page.truth[:length], page.places[: length + 1]
    return page


def generate(rng: random.Random, word: Picker, kind: str, rows: int = TEXT_ROWS, lines: int | None = None) -> Page:
    """One page of `kind` that fits in `rows` text rows, with 1 to 8 lines of text (`lines` fixes the number).

    The smallest sizes: plain 1 row, heading 3, table 3, heading+table 5.
    """
    page = Page(kind)
    row = 0
    body = rng.randint(1, 3)
    if "heading" in kind:
        row = heading(page, row, line(rng, word, TEXT_COLUMNS - 2).rstrip(".,").capitalize())
    if "table" in kind:
        body = min(body, rows - row - 2)
    # A table takes a header, a rule, its body, and a blank row between it and the lines.
    taken = body + 3 if "table" in kind else 0
    room = min(MAX_LINES, rows - row - taken)
    count = rng.randint(0 if taken else 1, room) if lines is None and room > 0 else min(lines or 0, max(room, 0))
    for _ in range(count):
        text = line(rng, word)
        page.write(text + "\n", row, 0)
        row += 1
    if taken:
        if count:
            page.write("\n", row, 0)
            row += 1
        table(page, row, _table_cells(rng, word, body))
    return finish(page)
