"""Words for the pages, in two lists that share nothing: a word's SHA-256 decides which list it is in.

Half of the vocabulary is common English, half is invented from syllables, so that a model that learns it has to read
letters and cannot get by with remembering words.
"""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

# Common English words of three to nine letters.
ENGLISH = Path(__file__).with_name("english.txt").read_text(encoding="ascii").split()

INVENTED = 6000
_ONSETS = [*"bcdfghjklmnpqrstvwxyz", "br", "ch", "cl", "dr", "fl", "gr", "pl", "sh", "sk", "st", "th", "tr", "wh"]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_VOWELS = [*"aeiou", "ai", "ea", "oo", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "x", "nd", "p", "z", "g"]


def is_test(word: str) -> bool:
    """True when `word` may only be used in tests: its SHA-256 (lower case, UTF-8) is odd."""
    return hashlib.sha256(word.lower().encode()).digest()[-1] % 2 == 1


def invented(count: int = INVENTED, seed: int = 1) -> list[str]:
    """`count` different pronounceable words of three to nine letters, none of them in ENGLISH; the same for a seed."""
    rng = random.Random(seed)  # noqa: S311  (reproducible data, not a secret)
    taken = set(ENGLISH)
    words: list[str] = []
    while len(words) < count:
        parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(rng.randint(1, 3))]
        word = "".join(parts)
        if 3 <= len(word) <= 9 and word not in taken:
            taken.add(word)
            words.append(word)
    return words


def train_words() -> list[str]:
    """English and invented words for training, sorted."""
    return sorted({word for word in [*ENGLISH, *invented()] if not is_test(word)})


def test_words() -> list[str]:
    """English words for tests (and no invented ones: test pages are to look like pages), sorted."""
    return sorted({word for word in ENGLISH if is_test(word)})


class TrainWords:
    """Draws training words: mostly from the list, else random letters, never a word that tests may use."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.listed = rng, train_words()

    def __call__(self) -> str:
        """One word of at most nine letters."""
        if self.rng.random() < 0.6:
            return self.rng.choice(self.listed)
        while is_test(word := "".join(self.rng.choice(_LETTERS) for _ in range(self.rng.randint(2, 8)))):
            pass
        return word
