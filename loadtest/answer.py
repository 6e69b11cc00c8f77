"""From the stamped bytes of a streamed chat completion to its tokens: when they came, how many, what they said.

Pure. One event is not one token: an engine that falls behind merges several into one event, and a token may carry no
text. So tokens are counted by the ids in the events (`return_token_ids`), and the server's own `usage` must agree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from loadtest.sse import DONE, SseDecoder

BREATH = 64  # events parsed before other greenlets may run: about half a millisecond


@dataclass(frozen=True)
class Answer:
    """What one stream said. `times[i]` is when the i-th event with tokens was read, `counts[i]` how many it held."""

    times: tuple[float, ...] = ()  # s, the clock of the pieces
    counts: tuple[int, ...] = ()
    text: str = ""
    finish: str = ""  # the engine's finish_reason
    prompt_tokens: int | None = None  # from usage
    completion_tokens: int | None = None  # from usage
    fault: str = ""  # why this is not a whole answer; empty when it is


def read_answer(pieces: Iterable[tuple[float, bytes]], breathe: Callable[[], None] = lambda: None) -> Answer:
    """The answer in `pieces` of (time, bytes), cut anywhere.

    `breathe` is called now and then, so that parsing a long answer does not delay the time stamps of other streams.
    """
    decoder = SseDecoder()
    reader = _Reader()
    parsed = 0
    for when, piece in pieces:
        for data in decoder.feed(piece):
            reader.take(when, data)
            parsed += 1
            if parsed % BREATH == 0:
                breathe()
    return reader.answer(cut=decoder.pending)


class _Reader:
    """Collects events. The first fault is kept; later events still count, so that no received token is lost."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.counts: list[int] = []
        self.text: list[str] = []
        self.finish = ""
        self.usage: dict[str, Any] = {}
        self.fault = ""
        self.done = False

    def take(self, when: float, data: bytes) -> None:
        if data == DONE:
            self.done = True
            return
        try:
            event = json.loads(data)
            if "error" in event:
                self._fail(f"error in the stream: {_message(event['error'])}")
                return
            self.usage = event.get("usage") or self.usage
            for choice in event["choices"]:
                self._choice(when, choice)
        except (ValueError, TypeError, KeyError, AttributeError):
            self._fail(f"event that is no chat completion chunk: {data[:60]!r}")

    def answer(self, *, cut: bool) -> Answer:
        if cut or not self.done:
            self._fail("stream cut short: it ended without [DONE]")
        if not self.counts:
            self._fail("stream without a token id")
        return Answer(
            times=tuple(self.times),
            counts=tuple(self.counts),
            text="".join(self.text),
            finish=self.finish,
            prompt_tokens=self.usage.get("prompt_tokens"),
            completion_tokens=self.usage.get("completion_tokens"),
            fault=self.fault,
        )

    def _choice(self, when: float, choice: dict[str, Any]) -> None:
        # vLLM sends the role in an event of its own before the first token; it has no ids and must not count as one.
        ids = choice.get("token_ids")
        if ids:
            self.times.append(when)
            self.counts.append(len(ids))
        self.text.append(choice["delta"].get("content") or "")
        self.finish = choice.get("finish_reason") or self.finish

    def _fail(self, fault: str) -> None:
        self.fault = self.fault or fault


def _message(error: Any) -> str:
    text = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(text).split())[:200]
