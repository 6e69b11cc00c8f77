"""Records of what was found: frozen, and the same for the terminal, the JSON and the HTML report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["pass", "fail", "could-not-run"]

EXIT_CODES: dict[Verdict, int] = {"pass": 0, "fail": 1, "could-not-run": 2}


@dataclass(frozen=True)
class Evidence:
    """One thing looked at: what was seen, what was wanted, and why that is wanted."""

    name: str
    verdict: Verdict
    saw: str
    wanted: str
    why: str


@dataclass(frozen=True)
class Result:
    """The outcome of one check."""

    check: str
    evidence: tuple[Evidence, ...]
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The worst of the evidence; a check without evidence proved nothing and could not run."""
        return worst(item.verdict for item in self.evidence)

    def as_dict(self) -> dict[str, Any]:
        """The record as JSON types."""
        return {
            "check": self.check,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 2),
            "evidence": [vars(item) for item in self.evidence],
        }


def judge(name: str, good: bool, *, saw: object, wanted: object, why: str) -> Evidence:
    """Evidence that passes when `good`, and fails otherwise."""
    return Evidence(name, "pass" if good else "fail", str(saw), str(wanted), why)


def not_run(name: str, reason: object) -> Evidence:
    """Evidence that could not be gathered; `reason` is the one line for a person."""
    return Evidence(name, "could-not-run", str(reason), "an answer to judge", "nothing is taken as good unseen")


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """`fail` if any failed, else `could-not-run` if any could not run or there are none, else `pass`."""
    found = set(verdicts)
    if "fail" in found:
        return "fail"
    return "pass" if found == {"pass"} else "could-not-run"
