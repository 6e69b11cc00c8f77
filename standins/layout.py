"""The grid that all pages of the LightOnOCR stand-in share, and one page on it.

A page is 420 x 560 pt. Rendered at 200 DPI with the longest side capped at 1540 px it is 1155 x 1540 px, and the
processor's longest edge of 448 px makes that 336 x 448 px: 12 x 16 image tokens of 28 x 28 px (patch 14, merge 2).
Courier's advance is 0.6 of the font size, so 17.5 pt of advance are 14 px: an image token covers exactly two characters
of one line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

WIDTH_PT, HEIGHT_PT = 420, 560
COLUMNS, ROWS = 24, 16
CELL_WIDTH_PT, CELL_HEIGHT_PT = WIDTH_PT / COLUMNS, HEIGHT_PT / ROWS
FONT_SIZE_PT = CELL_WIDTH_PT / 0.6
MARGIN_COLUMNS, MARGIN_ROWS = 2, 1
# One column is kept free at the right: the end of a line is read from the blank cell behind it.
TEXT_COLUMNS = COLUMNS - MARGIN_COLUMNS - 1
TEXT_ROWS = ROWS - MARGIN_ROWS

# Ruled lines, each within one cell.
UNDERLINE, RULE, VERTICAL, TOP, BOTTOM = "underline", "rule", "vertical", "top", "bottom"


@dataclass(frozen=True)
class Mark:
    """One thing drawn in one cell (row and column of the page's grid, margins included)."""

    row: int
    column: int
    what: str  # one character, or the name of a ruled line


@dataclass
class Page:
    """What is drawn, what it says, and where each character of the truth is drawn.

    `places` has one (row, column) for each character of `truth` and one more for the end of the text.
    """

    kind: str
    truth: str = ""
    marks: list[Mark] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)

    def write(self, text: str, row: int, column: int, *, drawn: bool = True) -> None:
        """Append `text` to the truth at the text position (row, column); `drawn=False` leaves its cells blank."""
        for offset, char in enumerate(text):
            place = (row + MARGIN_ROWS, column + offset + MARGIN_COLUMNS)
            self.truth += char
            self.places.append(place)
            if drawn and char not in " \n":
                self.marks.append(Mark(*place, char))

    def rule(self, what: str, row: int, columns: range) -> None:
        """Draw a ruled line in the cells of `columns`; nothing is added to the truth."""
        self.marks += [Mark(row + MARGIN_ROWS, column + MARGIN_COLUMNS, what) for column in columns]
