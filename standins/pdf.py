"""A PDF writer for grid pages: base-14 Courier-Bold, so no font file has to be shipped or embedded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from standins.layout import (
    BOTTOM,
    CELL_HEIGHT_PT,
    CELL_WIDTH_PT,
    FONT_SIZE_PT,
    HEIGHT_PT,
    RULE,
    TOP,
    UNDERLINE,
    VERTICAL,
    WIDTH_PT,
    Mark,
    Page,
)

BASELINE_PT = 25.0
LINE_WIDTH_PT = 1.6
# End points of a ruled line within its cell, in pt from the cell's top left corner: x0, y0, x1, y1.
_SEGMENTS = {
    UNDERLINE: (0.0, 32.5, CELL_WIDTH_PT, 32.5),
    TOP: (0.0, 2.0, CELL_WIDTH_PT, 2.0),
    RULE: (0.0, CELL_HEIGHT_PT / 2, CELL_WIDTH_PT, CELL_HEIGHT_PT / 2),
    BOTTOM: (0.0, CELL_HEIGHT_PT - 2.0, CELL_WIDTH_PT, CELL_HEIGHT_PT - 2.0),
    VERTICAL: (CELL_WIDTH_PT / 2, 0.0, CELL_WIDTH_PT / 2, CELL_HEIGHT_PT),
}


def _drawing(marks: Sequence[Mark], shift: tuple[float, float]) -> str:
    """PDF operators for the marks of one page, shifted by (right, down) pt."""
    ops = [f"{LINE_WIDTH_PT} w"]
    letters = sorted((m for m in marks if m.what not in _SEGMENTS), key=lambda m: (m.row, m.column))
    for mark in marks:
        left, top = mark.column * CELL_WIDTH_PT + shift[0], HEIGHT_PT - mark.row * CELL_HEIGHT_PT - shift[1]
        if mark.what in _SEGMENTS:
            x0, y0, x1, y1 = _SEGMENTS[mark.what]
            ops.append(f"{left + x0:.3f} {top - y0:.3f} m {left + x1:.3f} {top - y1:.3f} l S")
    # Neighbouring characters of a row become one string, so that the PDF holds words and not single letters.
    numbered = enumerate(letters)
    for _, group in groupby(numbered, key=lambda pair: (pair[1].row, pair[1].column - pair[0])):
        run = [mark for _, mark in group]
        text = "".join(mark.what for mark in run).replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        left = run[0].column * CELL_WIDTH_PT + shift[0]
        base = HEIGHT_PT - run[0].row * CELL_HEIGHT_PT - BASELINE_PT - shift[1]
        ops.append(f"BT /F1 {FONT_SIZE_PT:.5f} Tf {left:.3f} {base:.3f} Td ({text}) Tj ET")
    return "\n".join(ops)


def write_pdf(pages: Sequence[Page], shifts: Sequence[tuple[float, float]] | None = None) -> bytes:
    """A PDF 1.4 with one sheet for each page; `shifts` moves sheet i by (right, down) pt. Equal input, equal bytes."""
    shifts = shifts or [(0.0, 0.0)] * len(pages)
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] /MediaBox [0 0 {WIDTH_PT} {HEIGHT_PT}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier-Bold /Encoding /WinAnsiEncoding >>",
    ]
    for index, (page, shift) in enumerate(zip(pages, shifts, strict=True)):
        stream = _drawing(page.marks, shift)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * index} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for index, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{index} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
