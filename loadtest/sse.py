"""Server-sent events, decoded from bytes as they come. Pure: no socket, no clock.

The format is that of the WHATWG HTML standard, section 9.2.6, reduced to what OpenAI-compatible servers send. Bytes are
split on LF only, with one CR before it dropped: JSON may hold U+0085 or U+2028 unescaped, which str.splitlines would
take for line ends, and a character of several bytes may arrive in two pieces, so nothing is decoded before its line is
whole.
"""

from __future__ import annotations

DONE = b"[DONE]"  # OpenAI's mark for the end of a stream; not part of the standard


class SseDecoder:
    """Turns pieces of a byte stream, cut anywhere, into the data of whole events."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of each event that `piece` completes, in order. Lines of one event are joined with LF."""
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        events = []
        for line in lines:
            field = line.removesuffix(b"\r")
            if field:
                self._take(field)
            elif self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        return events

    @property
    def pending(self) -> bool:
        """True when an event has begun and not ended: a stream that stops here was cut short."""
        return bool(self._rest or self._data)

    def _take(self, field: bytes) -> None:
        name, _, value = field.partition(b":")
        # A line that starts with a colon is a comment (servers send these to keep a connection open), and the other
        # fields (event, id, retry) carry nothing in this API.
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
