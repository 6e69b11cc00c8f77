"""smoke.compare: the rule for a near-tie, by a table of cases worked out by hand."""

import pytest

from smoke.compare import Divergence, PageBaseline, first_divergence, noise_floor, prompt_difference

PAGE = PageBaseline(
    name="p",
    grid=(1, 1),
    prompt_ids=(1, 2),
    ids=(10, 11, 12),
    second=(20, 21, 22),
    margin=(5.0, 0.1, 3.0),
    margin_bf16=(5.25, -0.1, 2.5),
)


def test_noise_floor_is_the_largest_change_of_a_margin_over_all_pages():
    still = PageBaseline("q", (1, 1), (1,), (9,), (8,), (1.0,), (1.0,))
    assert noise_floor([PAGE, still]) == 0.5
    assert noise_floor([still]) == 0.0


@pytest.mark.parametrize(
    ("ids", "expected", "tie"),
    [
        ([10, 11, 12], None, None),
        ([10, 21, 99], Divergence(1, 21, 11, 21, 0.1), True),  # second choice, margin below 0.5
        ([10, 77, 12], Divergence(1, 77, 11, 21, 0.1), False),  # another token
        ([20, 11, 12], Divergence(0, 20, 10, 20, 5.0), False),  # second choice, clear margin
        ([10, 11], Divergence(2, None, 12, 22, 3.0), False),  # the server ended early
        ([10, 11, 12, 13], Divergence(3, 13, None, None, None), False),  # the server went on
        ([], Divergence(0, None, 10, 20, 5.0), False),
    ],
)
def test_first_divergence(ids, expected, tie):
    found = first_divergence(PAGE, ids)
    assert found == expected
    assert (found and found.near_tie(0.5)) == tie


def test_a_margin_equal_to_the_floor_is_no_near_tie():
    assert not Divergence(0, 20, 10, 20, 0.5).near_tie(0.5)


@pytest.mark.parametrize(
    ("saw", "expected"),
    [
        ((1, 2), None),
        ((1, 3), "2 ids, id 3 in place of 2 at position 1"),
        ((1, 2, 3), "3 ids, equal until the shorter one ends"),
        ((), "0 ids, equal until the shorter one ends"),
    ],
)
def test_prompt_difference(saw, expected):
    assert prompt_difference((1, 2), saw) == expected


def test_a_record_with_sequences_of_different_length_is_refused():
    data = {**vars(PAGE), "margin": [1.0]}
    with pytest.raises(ValueError, match="different length"):
        PageBaseline.from_dict(data)
