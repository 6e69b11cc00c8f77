"""The pages that the demo, the verifier and the load test send to the stand-in."""

from __future__ import annotations

import json
import random
from pathlib import Path

from standins.checkpoint import write_file
from standins.layout import Page
from standins.pages import KINDS, finish, generate, heading, table
from standins.pdf import write_pdf
from standins.words import test_words

COUNT, SEED = 10, 11


def demo_page() -> Page:
    """Page 1: a heading, four lines, a small table; every word is a test word."""
    page = Page("heading+table")
    row = heading(page, 0, "Harbor report")
    for text in ("Today we list 3 boats", "No boat was late.", "Next sale on day 127.", "Call 80443 for help."):
        page.write(text + "\n", row, 0)
        row += 1
    page.write("\n", row, 0)
    table(page, row + 1, [["Catch", "Total"], ["fish", "1840"], ["salt", "62.50"], ["ice", "975"]])
    return finish(page)


def demo_set() -> list[Page]:
    """The demo page and nine random pages of test words, at least two of every kind."""
    rng, words = random.Random(SEED), test_words()  # noqa: S311  (reproducible data, not a secret)
    rest = [
        generate(rng, lambda: rng.choice(words), KINDS[index % len(KINDS)], lines=3 + index % 6)
        for index in range(COUNT - 1)
    ]
    return [demo_page(), *rest]


def write(folder: Path) -> int:
    """Write `standin.pdf` and `standin.json` into `folder`; returns the number of pages."""
    pages = demo_set()
    truths = [{"page": number, "truth": page.truth} for number, page in enumerate(pages, 1)]
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "standin.pdf", write_pdf(pages))
    write_file(folder / "standin.json", (json.dumps(truths, indent=2) + "\n").encode())
    return len(pages)
