"""Tolerant looks into an answer: what is missing or malformed reads as None or empty, and the check judges that."""

from __future__ import annotations

import json
from typing import Any

from smoke.client import Reply


def parse(text: str) -> dict[str, Any] | None:
    """`text` as a JSON object, or None."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def delta(chunk: dict[str, Any]) -> str:
    """The text that a streamed chunk adds; empty when it adds none or is malformed."""
    try:
        return "".join(choice["delta"].get("content") or "" for choice in chunk["choices"])
    except (AttributeError, KeyError, TypeError):
        return ""


def content(reply: Reply) -> str | None:
    """The message's text of an unstreamed answer, or None when there is none."""
    data = parse(reply.body.decode("utf-8", "replace")) or {}
    try:
        text = data["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    return text if isinstance(text, str) else None


def usage(reply: Reply) -> Any:
    """The `usage` of an unstreamed answer, whatever it is."""
    return (parse(reply.body.decode("utf-8", "replace")) or {}).get("usage")


def counts(usage: Any) -> list[Any]:
    """Prompt, completion and total tokens of a `usage`; None where one is missing."""
    known = usage if isinstance(usage, dict) else {}
    return [known.get(f"{name}_tokens") for name in ("prompt", "completion", "total")]


def summary(reply: Reply) -> str:
    """Status, and what the answer says: the error's message, else the start of the text."""
    error = reply.error()
    if error:
        return f"status {reply.status}: {' '.join(error['message'].split())[:160]}"
    text = content(reply)
    if text is None:
        return f"status {reply.status}, {reply.kind}: {reply.body[:60].decode('utf-8', 'replace')!r}"
    return f"status {reply.status}, {len(text)} characters"
