"""The reading half of HTTP/1.1 (RFC 9112), decoded from bytes as they come. Pure: no socket, no clock."""

from __future__ import annotations

from collections.abc import Callable

MAX_HEAD = 65536  # bytes; HAProxy and vLLM send well under 2 KiB


class HttpError(Exception):
    """The peer's bytes are not an HTTP/1.1 response, or end before it does."""


class ResponseDecoder:
    """One response. `feed` takes pieces cut anywhere and gives back the body bytes they hold.

    `status` is 0 and `headers` (lower-case names) empty until the head is complete.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.done = False
        self.keep_alive = False
        self._rest = b""
        self._left = 0  # body bytes still to come in this chunk, or in the body when it has a length
        self._step: Callable[[], bytes | None] = self._head

    def feed(self, piece: bytes) -> bytes:
        """Body bytes in `piece`, chunk framing taken off; raises HttpError on broken framing."""
        self._rest += piece
        body = []
        while not self.done:
            part = self._step()
            if part is None:  # needs more bytes
                break
            body.append(part)
        return b"".join(body)

    def end(self) -> None:
        """The peer closed the connection: the end of a body without a length, or HttpError."""
        if self._step == self._until_close:
            self.done = True
        elif not self.done:
            where = "inside the response" if self.status or self._rest else "before a response"
            raise HttpError(f"connection closed {where}")

    def _head(self) -> bytes | None:
        head, mark, rest = self._rest.partition(b"\r\n\r\n")
        if not mark:
            if len(self._rest) > MAX_HEAD:
                raise HttpError(f"no end of the response head within {MAX_HEAD} bytes")
            return None
        self._rest = rest
        status_line, *lines = head.decode("latin-1").split("\r\n")
        version, _, tail = status_line.partition(" ")
        if not version.startswith("HTTP/1.") or not tail[:3].isdigit():
            raise HttpError(f"not an HTTP response: {status_line[:60]!r}")
        status = int(tail[:3])
        if status < 200:  # 100 Continue and friends come before the real response
            return b""
        self.status = status
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self._choose_framing(version)
        return b""

    def _choose_framing(self, version: str) -> None:
        closing = "close" in self.headers.get("connection", "").lower()
        self.keep_alive = version == "HTTP/1.1" and not closing
        if self.status in (204, 304):
            self.done = True
        elif "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._step = self._chunk_size
        elif "content-length" in self.headers:
            self._left = _number(self.headers["content-length"], 10)
            self._step = self._sized
            self.done = self._left == 0
        else:
            self.keep_alive = False
            self._step = self._until_close

    def _chunk_size(self) -> bytes | None:
        line = self._line()
        if line is None:
            return None
        self._left = _number(line.partition(b";")[0].decode("latin-1"), 16)
        self._step = self._chunk if self._left else self._trailer
        return b""

    def _chunk(self) -> bytes | None:
        if not self._rest:
            return None
        part = self._cut()
        if not self._left:
            self._step = self._chunk_end
        return part

    def _chunk_end(self) -> bytes | None:
        line = self._line()
        if line is None:
            return None
        if line:
            raise HttpError(f"chunk longer than its size: {line[:20]!r}")
        self._step = self._chunk_size
        return b""

    def _trailer(self) -> bytes | None:
        line = self._line()
        if line is None:
            return None
        self.done = line == b""
        return b""

    def _sized(self) -> bytes | None:
        if not self._rest:
            return None
        part = self._cut()
        self.done = self._left == 0
        return part

    def _until_close(self) -> bytes | None:
        part, self._rest = self._rest, b""
        return part or None

    def _cut(self) -> bytes:
        part = self._rest[: self._left]
        self._rest = self._rest[self._left :]
        self._left -= len(part)
        return part

    def _line(self) -> bytes | None:
        line, mark, rest = self._rest.partition(b"\r\n")
        if not mark:
            if len(self._rest) > MAX_HEAD:
                raise HttpError("no end of a chunk line")
            return None
        self._rest = rest
        return line


def _number(text: str, base: int) -> int:
    try:
        value = int(text.strip(), base)
    except ValueError:
        value = -1
    if value < 0:
        raise HttpError(f"bad length {text[:20]!r}")
    return value
