"""One run of the verifier: what the checks share, and the order in which they go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dock.catalog import Model
from dock.errors import DockError, InputError
from dock.pages import Page, chat_body, load_pages
from smoke.checkpoint import Checkpoint
from smoke.client import Reading, Server
from smoke.result import Result, not_run
from smoke.store import Baseline

DEMO_PAGE = 0  # index of the page that --quick reads and that is shown at the end

# What smoke.yaml must hold, by dotted name.
PLAN: dict[str, type] = {
    "pages": str,
    "truths": str,
    "max_tokens": int,
    "sampling": dict,
    "limits.cer": float,
    "limits.repetition": int,
    "limits.frame_tokens": int,
    "limits.repeats": int,
    "baseline.pages": list,
    "baseline.class": str,
    "baseline.rename": dict,
    "baseline.processor": str,
    "baseline.image_grid": int,
    "baseline.drop_tokens": list,
}

Check = Callable[["Run"], Result]


@dataclass(frozen=True)
class Corpus:
    """Pages with their known text, in the same order."""

    pages: list[Page]
    truths: list[str]


@dataclass
class Run:
    """What a check may use. `user` is the key that clients hold, `operator` the one that sees token ids."""

    model: str
    plan: dict[str, Any]  # smoke.yaml
    corpus: Corpus
    user: Server
    operator: Server
    quick: bool
    checkpoint: Callable[[], Checkpoint]
    baseline: Callable[[], Baseline]
    progress: Callable[[str], None]
    _readings: dict[int, Reading] = field(default_factory=dict)

    def wanted_pages(self) -> list[int]:
        """Indices of the pages to read: the demo page, or all."""
        return [DEMO_PAGE] if self.quick else list(range(len(self.corpus.pages)))

    def body(self, index: int, **fields: Any) -> bytes:
        """A greedy request for page `index`; `fields` come on top."""
        settings: dict[str, Any] = {"max_tokens": self.plan["max_tokens"], "stream": False, **self.plan["sampling"]}
        return chat_body(self.model, self.corpus.pages[index], **{**settings, **fields})

    def read(self, index: int) -> Reading:
        """What the model gives for page `index`, asked for once a run."""
        if index not in self._readings:
            self.progress(f"reading {self.corpus.pages[index].name}")
            self._readings[index] = self.read_again(index)
        return self._readings[index]

    def read_again(self, index: int) -> Reading:
        """The same request, sent anew."""
        return self.operator.read(self.body(index, return_token_ids=True))


def require_plan(plan: dict[str, Any], path: Path) -> None:
    """Raise InputError unless `plan`, read from `path`, holds everything in PLAN."""
    for name, kind in PLAN.items():
        value: Any = plan
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if not isinstance(value, kind):
            raise InputError(
                f"found {value!r} as {name} in {path}, need a value of type {kind.__name__}, do: correct it"
            )


def load_corpus(model: Model, plan: dict[str, Any]) -> Corpus:
    """The pages and truths that smoke.yaml names; InputError when they do not belong together."""
    pages = load_pages(model.folder / plan["pages"])
    path = model.folder / plan["truths"]
    try:
        truths = {int(row["page"]): str(row["truth"]) for row in json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise InputError(f'found {path} that cannot be used ({error}), need a list of {{"page", "truth"}}') from None
    if sorted(truths) != list(range(1, len(pages) + 1)):
        raise InputError(f"found {len(truths)} truths in {path} for {len(pages)} pages, need one for each page")
    return Corpus(pages, [truths[number] for number in range(1, len(pages) + 1)])


def run_checks(run: Run, checks: dict[str, Check]) -> list[Result]:
    """Run `checks` one after the other. One that could not run says why, and the others still go on."""
    results = []
    for name, check in checks.items():
        run.progress(f"check {name}")
        started = time.monotonic()
        try:
            result = check(run)
        except DockError as error:
            result = Result(name, (not_run(name, error),))
        results.append(Result(name, result.evidence, time.monotonic() - started))
    return results


def baseline_pages(plan: dict[str, Any], corpus: Corpus, path: Path) -> list[Page]:
    """The pages that the baseline covers; InputError when smoke.yaml at `path` names one that is not there."""
    numbers = plan["baseline"]["pages"]
    if not all(1 <= number <= len(corpus.pages) for number in numbers) or DEMO_PAGE + 1 not in numbers:
        raise InputError(
            f"found baseline pages {numbers} in {path}, need page 1 and none past {len(corpus.pages)}, do: correct it"
        )
    return [corpus.pages[number - 1] for number in numbers]
