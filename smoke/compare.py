"""Are two greedy paths the same up to the noise of bfloat16? Pure functions over the stored baseline.

A bfloat16 server may take another token than float32 where the two best logits lie closer together than rounding can
move them. How far rounding moves them is measured and not guessed: the noise floor is

    floor = max over pages and positions t of |margin32(t) - margin16(t)|

with the margins of `smoke.baseline`: same checkpoint, class, code and path, once in float32 and once in bfloat16. The
greedy token at t can only flip from a(t) to b(t) when the margin changes by more than margin32(t). So, at the first
position where the server departs from the baseline, it must have taken b(t), and margin32(t) must be below the floor.
After that position the two contexts differ, and nothing is compared any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PageBaseline:
    """One page of a baseline. All sequences but `prompt_ids` have one entry per generated position."""

    name: str
    grid: tuple[int, int]  # rows, columns of image tokens
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    second: tuple[int, ...]
    margin: tuple[float, ...]
    margin_bf16: tuple[float, ...]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PageBaseline:
        """From the JSON record of `smoke.baseline`; KeyError, TypeError or ValueError when it is not one."""
        page = cls(
            name=data["name"],
            grid=(data["grid"][0], data["grid"][1]),
            prompt_ids=tuple(data["prompt_ids"]),
            ids=tuple(data["ids"]),
            second=tuple(data["second"]),
            margin=tuple(data["margin"]),
            margin_bf16=tuple(data["margin_bf16"]),
        )
        if not page.ids or len({len(page.ids), len(page.second), len(page.margin), len(page.margin_bf16)}) != 1:
            raise ValueError(f"sequences of different length on {page.name}")
        return page


@dataclass(frozen=True)
class Divergence:
    """The first position where the server took another token. `saw` or `wanted` is None where that side had ended."""

    position: int
    saw: int | None
    wanted: int | None
    second: int | None
    margin: float | None

    def near_tie(self, floor: float) -> bool:
        """Whether bfloat16's own noise explains it: float32's second choice, at a margin below the floor."""
        return self.saw is not None and self.saw == self.second and self.margin is not None and self.margin < floor


def noise_floor(pages: Sequence[PageBaseline]) -> float:
    """The largest change of a top-2 margin between float32 and bfloat16 over all positions, in logits."""
    return max(abs(a - b) for page in pages for a, b in zip(page.margin, page.margin_bf16, strict=True))


def first_divergence(page: PageBaseline, ids: Sequence[int]) -> Divergence | None:
    """Where `ids` first departs from the baseline's path, or None when both are the same to the end."""
    for position in range(max(len(ids), len(page.ids))):
        saw = ids[position] if position < len(ids) else None
        if position >= len(page.ids):
            return Divergence(position, saw, None, None, None)
        if saw != page.ids[position]:
            return Divergence(position, saw, page.ids[position], page.second[position], page.margin[position])
    return None


def prompt_difference(wanted: Sequence[int], saw: Sequence[int]) -> str | None:
    """One line on the first difference of two prompts, or None when they are equal."""
    if tuple(wanted) == tuple(saw):
        return None
    for position, (one, other) in enumerate(zip(wanted, saw, strict=False)):
        if one != other:
            return f"{len(saw)} ids, id {other} in place of {one} at position {position}"
    return f"{len(saw)} ids, equal until the shorter one ends"
