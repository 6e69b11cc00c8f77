"""Text quality of a read page: character error rate and endless repetition.

Both sides are normalised before they are compared, always in the same way (`normalise`), so that a figure says how
much text was misread and not how somebody spells a quotation mark.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rapidfuzz.distance import Levenshtein

from dock.errors import InputError

# Typographic quotes, dashes, hyphens and blanks that mean the same as the ASCII character they are mapped to.
_ASCII = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00ad\u200b\ufeff"),  # soft hyphen, zero-width space, byte order mark: not printed at all
    }
)

# Emphasis touches its text on the inside and does not cut a word: `*so*` is emphasis; `2 * 3 * 4` and `a_b_c` are not.
_EMPHASIS = [
    re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])"),
    re.compile(r"(?<![\w_])(_{1,3})(?=[^\s_])(.+?)(?<=[^\s_])\1(?![\w_])"),
]

LONGEST_GRAM = 10


def normalise(text: str) -> str:
    """`text` as it is compared: what a reader sees, without choices of spelling that carry no meaning.

    In this order: Unicode NFC (not NFKC, which would change characters of formulas); typographic quotes, dashes and
    hyphens to ASCII, invisible characters dropped; Markdown emphasis marks off (headings and tables stay, they are
    structure that the model is to read); every run of white space, line ends included, to one blank, none at the ends.
    A word hyphenated at a line end is left as it stands: joining it would need a dictionary.
    """
    text = unicodedata.normalize("NFC", text).translate(_ASCII)
    for pattern in _EMPHASIS:
        text = pattern.sub(r"\2", text)
    return " ".join(text.split())


def cer(reference: str, hypothesis: str) -> float:
    """Character error rate of one text: (substitutions + deletions + insertions) / characters of the reference.

    The edits are the Levenshtein distance of the normalised texts, in Unicode code points. 0.0 is perfect; more than
    1.0 is possible when the hypothesis is much longer. Raises InputError when the reference holds no text.
    """
    return corpus_cer([(reference, hypothesis)])


def corpus_cer(pairs: Iterable[tuple[str, str]]) -> float:
    """Character error rate of many (reference, hypothesis) pairs: sum of edits / sum of reference characters.

    Not the mean of the pages' rates, in which a short page would count as much as a long one. Raises InputError
    when the references together hold no text.
    """
    edits = characters = 0
    for reference, hypothesis in pairs:
        wanted = normalise(reference)
        edits += Levenshtein.distance(wanted, normalise(hypothesis))
        characters += len(wanted)
    if not characters:
        raise InputError("found a reference without any text, need text to compute a character error rate")
    return edits / characters


def repetition_tail(text: str) -> int:
    """How often the text's last n-gram stands there in a row: the largest count over n = 1..10 characters.

    White space is collapsed first. A healthy text gives 1 to 5 (a table's rule repeats a little), an endless loop
    hundreds; the empty text gives 0.
    """
    text = " ".join(text.split())
    return max((_repeats(text, size) for size in range(1, LONGEST_GRAM + 1)), default=0) if text else 0


def _repeats(text: str, size: int) -> int:
    gram = text[-size:]
    count, end = 0, len(text)
    while end >= size and text[end - size : end] == gram:
        count += 1
        end -= size
    return count
