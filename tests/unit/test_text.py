"""dock.text: what is compared, and how a misread page is counted."""

import pytest

from dock.errors import InputError
from dock.text import cer, corpus_cer, normalise, repetition_tail


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  a \n\n b\t c ", "a b c"),
        ("\u201cso\u201d \u2018it\u2019 \u2013 is\u2014", "\"so\" 'it' - is-"),
        ("e\u0301", "\u00e9"),
        ("x\u00b2", "x\u00b2"),  # NFKC would make this x2
        ("co\u00adop\u200b", "coop"),
        ("**bold** and *so* and ***both*** and _it_ and __that__", "bold and so and both and it and that"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name", "snake_case_name"),
        ("# Head\n| a | b |\n|---|---|", "# Head | a | b | |---|---|"),
        ("infor-\nmation", "infor- mation"),
        ("", ""),
    ],
)
def test_normalise_changes_spelling_and_nothing_else(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize("text", ["**a** *b*", "\u201cx\u201d \u2013 y", " a  b "])
def test_normalise_twice_is_normalise_once(text):
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("abcd", "abcd", 0.0),
        ("abcd", "abxd", 0.25),  # substitution
        ("abcd", "abd", 0.25),  # deletion
        ("abcd", "abccd", 0.25),  # insertion
        ("abcd", "", 1.0),
        ("ab", "xxxxxx", 3.0),  # more than 1 is possible
        ("a  b", "a b", 0.0),
        ("\u4f60\u597d", "\u4f60", 0.5),
    ],
)
def test_cer_by_hand(reference, hypothesis, expected):
    assert cer(reference, hypothesis) == expected


def test_corpus_cer_weighs_pages_by_their_length():
    """One wrong character in 2 + 8 is 0.1; the mean of the two pages' rates would be 0.25."""
    assert corpus_cer([("ab", "ax"), ("12345678", "12345678")]) == 0.1


@pytest.mark.parametrize("pairs", [[], [("", "x")], [(" \n", "")]])
def test_cer_without_a_reference_is_refused(pairs):
    with pytest.raises(InputError, match="found a reference without any text"):
        corpus_cer(pairs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("   ", 0),
        ("a", 1),
        ("a page of text", 1),
        ("end" + "ab" * 40, 40),
        ("start " + "the end. " * 50, 50),
        ("loop\n" * 12, 11),  # the first one has no blank before it: eleven times " loop"
        ("x" * 100 + "y", 1),  # the loop is over: the tail is healthy
        ("0123456789A" * 40, 1),  # 11 characters: longer than the longest n-gram looked for
    ],
)
def test_repetition_tail_counts_the_last_gram(text, expected):
    assert repetition_tail(text) == expected


def test_repetition_of_a_table_rule_stays_small():
    assert repetition_tail("| a | b |\n|---|---|\n| 1 | 2 |") < 5
