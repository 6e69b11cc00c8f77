"""A mock of an OpenAI server that streams by a known schedule. It stands in for no engine: it exists to test clients.

A client's accuracy cannot be read off a real engine, because nobody knows when that sent a token. Here every event
carries `sent`, the server's monotonic clock just before the write; on Linux that clock is the same in all processes
of a machine. Run in a process of its own, so that client and server do not delay each other:

    python -m loadtest.mock --ttft 0.1 --gap 0.02 --tokens 64       prints {"port": N} when it listens; ends with stdin
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

TEXT = "abcd "  # of each event; together with the rest an event has about 240 bytes, as vLLM's


@dataclass(frozen=True)
class Schedule:
    """What every request gets. Times in s."""

    ttft: float = 0.1
    gap: float = 0.02
    tokens: int = 64
    model: str = "mock"
    key: str = ""  # empty: every key is good
    refuse: int = 0  # every N-th chat request is answered 503; 0: none
    cut: int = 0  # every N-th chat request ends half-way through its tokens; 0: none


class Mock:
    """The server's state: how many chat requests it has seen."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.chats = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests until the peer leaves."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
        body = await reader.readexactly(length)
        if self.schedule.key and f"authorization: bearer {self.schedule.key.lower()}\r\n" not in head:
            _reply(writer, 401, _error("invalid key"))
        elif head.startswith("get /v1/models "):
            _reply(writer, 200, {"object": "list", "data": [{"id": self.schedule.model, "object": "model"}]})
        elif head.startswith("post /v1/chat/completions "):
            return await self._chat(writer, json.loads(body)["model"])
        else:
            _reply(writer, 404, _error("no such path"))
        await writer.drain()
        return True

    async def _chat(self, writer: asyncio.StreamWriter, model: str) -> bool:
        self.chats += 1
        plan = self.schedule
        if plan.refuse and self.chats % plan.refuse == 0:
            _reply(writer, 503, _error("no engine is up"))
            return True
        last = plan.tokens // 2 if plan.cut and self.chats % plan.cut == 0 else plan.tokens
        await self._stream(writer, model, last)
        return last == plan.tokens

    async def _stream(self, writer: asyncio.StreamWriter, model: str, last: int) -> None:
        plan = self.schedule
        start = time.monotonic()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        _event(writer, _chunk(model, {"role": "assistant", "content": ""}))
        for i in range(last):
            # Against the start and not the last event, so that delays do not add up.
            await asyncio.sleep(max(0.0, start + plan.ttft + i * plan.gap - time.monotonic()))
            if writer.is_closing():
                raise ConnectionResetError
            finish = "stop" if i == plan.tokens - 1 else None
            _event(writer, _chunk(model, {"content": TEXT}, token_ids=[i], finish_reason=finish), stamp=True)
        if last == plan.tokens:
            usage = {"prompt_tokens": 7, "completion_tokens": plan.tokens, "total_tokens": 7 + plan.tokens}
            _event(writer, {**_chunk(model, {}), "choices": [], "usage": usage})
            _write_chunk(writer, b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
        await writer.drain()


def _chunk(model: str, delta: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-00000000000000000000000000000000",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, **choice}],
    }


def _event(writer: asyncio.StreamWriter, event: dict[str, Any], *, stamp: bool = False) -> None:
    if stamp:
        event["sent"] = time.monotonic()
    _write_chunk(writer, b"data: " + json.dumps(event).encode("ascii") + b"\n\n")


def _write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "mock", "param": None, "code": None}}


def _reply(writer: asyncio.StreamWriter, status: int, document: dict[str, Any]) -> None:
    data = json.dumps(document).encode("ascii")
    head = f"HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode("ascii") + data)


async def _main(schedule: Schedule) -> None:
    mock = Mock(schedule)
    server = await asyncio.start_server(mock.serve, "127.0.0.1", 0, limit=16 * 1024 * 1024)
    async with server:
        sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Read the schedule from the command line and serve it until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.mock", description=__doc__)
    plain = Schedule()
    for name, value in vars(plain).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    asyncio.run(_main(Schedule(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
