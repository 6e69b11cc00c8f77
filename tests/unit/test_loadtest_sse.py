"""loadtest.sse and loadtest.answer: the same events, however the bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loadtest.answer import read_answer
from loadtest.sse import SseDecoder


def decode(data: bytes, *cuts: int) -> list[bytes]:
    decoder, events, start = SseDecoder(), [], 0
    for cut in (*cuts, len(data)):
        events += decoder.feed(data[start:cut])
        start = cut
    return events


def chunk(content: str | None = None, ids: list[int] | None = None, finish: str | None = None, **more: Any) -> bytes:
    delta = {} if content is None else {"content": content}
    choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = ids
    return event({"choices": [choice], **more})


def event(document: object) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False).encode() + b"\n\n"


ROLE = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "prompt_token_ids": [1, 2]})
USAGE = event({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}})
DONE = b"data: [DONE]\n\n"
FIRST = b": keep-alive\n\n" + ROLE + chunk("页\u2028面", [5])
FIRST_END = len(FIRST)
STREAM = (
    FIRST
    + chunk("", [6])  # a token without text: half of a character
    + chunk("\u0085ok", [7, 8]).replace(b"\n", b"\r\n")
    + chunk(None, None, "stop")
    + USAGE
    + DONE
)


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\n", [b"a"]),
        (b"data:  two blanks\n\n", [b" two blanks"]),
        (b": comment\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\ndata: b\n\n", [b"a\nb"]),
        ("data: a\u2028b\u0085c\n\n".encode(), ["a\u2028b\u0085c".encode()]),
        (b"data: a\rb\n\n", [b"a\rb"]),  # a lone CR is no line end here: JSON never holds one
        (b"\n\n\n", []),
        (b"data: unfinished\n", []),
    ],
)
def test_events_of_a_stream(data: bytes, events: list[bytes]) -> None:
    assert decode(data) == events


def test_pending_tells_a_cut_event_from_a_whole_one() -> None:
    decoder = SseDecoder()
    for piece, pending in ((b"data: a", True), (b"\n", True), (b"\n", False)):
        decoder.feed(piece)
        assert decoder.pending is pending


def test_every_cut_gives_the_same_events() -> None:
    whole = decode(STREAM)
    assert len(whole) == 7
    for cut in range(len(STREAM) + 1):
        assert decode(STREAM, cut) == whole
    assert decode(STREAM, *range(len(STREAM))) == whole  # byte by byte


def test_every_cut_gives_the_same_answer() -> None:
    """Text, counts and usage do not depend on the cut, and a token gets the time of the piece that completed it."""
    for cut in range(len(STREAM) + 1):
        answer = read_answer([(1.0, STREAM[:cut]), (2.0, STREAM[cut:])])
        assert answer.text == "页\u2028面\u0085ok"
        assert answer.counts == (1, 1, 2)
        assert (answer.finish, answer.prompt_tokens, answer.completion_tokens) == ("stop", 9, 4)
        assert answer.fault == ""
        assert answer.times[0] == (1.0 if cut >= FIRST_END else 2.0)
        assert sorted(answer.times) == list(answer.times)


def test_role_event_is_not_the_first_token() -> None:
    answer = read_answer([(1.0, ROLE), (2.0, chunk("a", [1])), (3.0, USAGE), (4.0, DONE)])
    assert answer.times == (2.0,)


@pytest.mark.parametrize(
    ("stream", "fault", "counts"),
    [
        (chunk("a", [1]) + USAGE, "stream cut short: it ended without [DONE]", (1,)),
        (chunk("a", [1]) + b"data: {", "stream cut short: it ended without [DONE]", (1,)),
        (b"", "stream cut short: it ended without [DONE]", ()),
        (ROLE + DONE, "stream without a token id", ()),
        (chunk("a") + DONE, "stream without a token id", ()),
        (chunk("a", [1]) + b"data: rubbish\n\n" + DONE, "event that is no chat completion chunk: b'rubbish'", (1,)),
        (b"data: []\n\n" + chunk("a", [1]) + DONE, "event that is no chat completion chunk: b'[]'", (1,)),
        (
            chunk("a", [1]) + event({"error": {"message": "engine\ndied"}}) + DONE,
            "error in the stream: engine died",
            (1,),
        ),
        (event({"error": "plain"}) + DONE, "error in the stream: plain", ()),
    ],
)
def test_faults_are_named_and_received_tokens_kept(stream: bytes, fault: str, counts: tuple[int, ...]) -> None:
    answer = read_answer([(1.0, stream)])
    assert (answer.fault, answer.counts) == (fault, counts)


def test_first_of_several_faults_is_told() -> None:
    assert read_answer([(1.0, b"data: rubbish\n\n")]).fault.startswith("event that is no")


def test_parsing_lets_others_run() -> None:
    """A long answer is parsed in slices, so that other streams get their time stamps."""
    breaths: list[int] = []
    answer = read_answer([(1.0, chunk("a", [1]) * 640 + DONE)], breathe=lambda: breaths.append(1))
    assert sum(answer.counts) == 640
    assert len(breaths) == 10
