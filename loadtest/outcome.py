"""From an exchange to its record: did a whole answer come, and if not, why. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from loadtest.answer import Answer, read_answer
from loadtest.client import Exchange
from loadtest.records import Record


@dataclass(frozen=True)
class Ticket:
    """What is known of a request before it is sent."""

    user: int
    page: str
    request_id: str
    warmup: bool = False


def to_record(
    exchange: Exchange, ticket: Ticket, fault: str = "", breathe: Callable[[], None] = lambda: None
) -> Record:
    """The record of `exchange`; `fault` is what broke it off, if anything did.

    Tokens that came before a fault are kept: the server did produce them.
    """
    refusal = "" if exchange.status in (0, 200) else refused(exchange)
    answer = Answer() if refusal or not exchange.pieces else read_answer(exchange.pieces, breathe)
    return Record(
        user=ticket.user,
        page=ticket.page,
        # A gateway may give its own id to a request; it is then the one that the server's logs show.
        request_id=exchange.headers.get("x-request-id", ticket.request_id),
        t0=exchange.sent,
        end=exchange.ended,
        warmup=ticket.warmup,
        status=exchange.status,
        # A broken connection explains a cut stream, not the other way round.
        failure=fault or refusal or _not_a_stream(exchange) or answer.fault,
        times=answer.times,
        counts=answer.counts,
        finish=answer.finish,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        text=answer.text,
    )


def refused(exchange: Exchange) -> str:
    """`HTTP 503: message`, the message taken from an OpenAI-shaped error body where there is one."""
    body = exchange.body.decode("utf-8", errors="replace")
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, TypeError, KeyError):
        message = body
    return f"HTTP {exchange.status}: {' '.join(str(message).split())[:200]}"


def _not_a_stream(exchange: Exchange) -> str:
    kind = exchange.headers.get("content-type", "")
    if exchange.status == 200 and not kind.startswith("text/event-stream"):
        return f"answered {kind or 'without a content type'} and no event stream: {exchange.body[:100]!r}"
    return ""
