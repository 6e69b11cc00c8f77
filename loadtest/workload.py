"""What a run sends: request bodies made before any clock starts, and the order in which users take them."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dock.catalog import Model
from dock.errors import InputError, SettingsError
from dock.pages import chat_body, load_pages
from dock.settings import Settings


@dataclass(frozen=True)
class Item:
    """One request: `name` for the records, `body` as it goes over the wire."""

    name: str
    body: bytes


@dataclass(frozen=True)
class Workload:
    """All requests of a run and how they came about (for the report)."""

    items: tuple[Item, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def order(self, seed: int) -> Iterator[Item]:
        """The items for ever, each round shuffled anew from `seed`: the same sequence for the same seed."""
        dice = random.Random(seed)  # noqa: S311  # a repeatable order, no secret
        while True:
            yield from dice.sample(self.items, len(self.items))


def load_config(model: Model, settings: Settings) -> dict[str, Any]:
    """`load.yaml` of `model`, with its `standin` part laid over it while the stand-in checkpoint is served."""
    config = model.read("load")
    standin = config.pop("standin", {})
    try:
        revision = settings.revision(model.name)
    except SettingsError:
        # A server elsewhere (--host) needs no .env here; the published checkpoint's values then stand.
        revision = ""
    return config | standin if revision.startswith("standin-") else config


def ocr_workload(model: Model, config: dict[str, Any], pages: Path | None, max_tokens: int | None) -> Workload:
    """One request a page: one image, no text, streamed, tokens counted by the server."""
    source = pages or model.folder / config["pages"]
    limit = max_tokens or config["max_tokens"]
    if limit < 1:
        raise InputError(f"found --max-tokens {limit}, need at least 1")
    loaded = load_pages(source, progress=_show_progress)
    fields = {"stream_options": {"include_usage": True}, "return_token_ids": True, **config["sampling"]}
    items = tuple(
        Item(page.name, chat_body(model.name, page, max_tokens=limit, stream=True, **fields)) for page in loaded
    )
    facts = {
        "pages": str(source),
        "page_count": len(items),
        "mean_body_bytes": round(sum(len(item.body) for item in items) / len(items)),
        "max_tokens": limit,
        "sampling": config["sampling"],
    }
    return Workload(items, facts)


def _show_progress(name: str, done: int, of: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\rrendering {name}: {done}/{of}" + ("\n" if done == of else ""))
        sys.stderr.flush()
