"""One keep-alive HTTP/1.1 connection on a gevent socket that stamps every piece of a response when it is read.

Locust's own streaming readers are not used: FastHttpUser.iter_lines collects blocks of 1024 bytes before it gives
anything back, which moves the first token by several gaps and turns gaps of 20 ms into 0.01 ms; HttpUser is right but
does its string work while other streams wait for their time stamp. Here nothing happens between the read and the
stamp, and nothing but the chunk framing is decoded before the stream has ended.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gevent import socket
from gevent.select import select

from dock.errors import InputError
from loadtest.http1 import HttpError, ResponseDecoder

CONNECT_TIMEOUT = 10.0  # s
READ_TIMEOUT = 120.0  # s without a single byte; the longest silence is the prefill of a full queue
BLOCK = 65536  # bytes a read; more than one engine step ever sends

clock = time.monotonic  # s; on Linux the same clock in every process of the machine


@dataclass(frozen=True)
class Endpoint:
    """Where requests go: `http://host:port/prefix`, taken apart."""

    host: str
    port: int
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Take `url` apart; raises InputError for anything but http with a host."""
        try:
            parts = urlsplit(url)
            port = parts.port or 80
        except ValueError as error:
            raise InputError(f"found {url!r} that is no URL ({error}), need http://host:port") from None
        if parts.scheme != "http" or not parts.hostname:
            raise InputError(f"found {url!r}, need http://host:port (this client speaks plain HTTP)")
        return cls(parts.hostname, port, parts.path.rstrip("/").removesuffix("/v1"))

    @property
    def netloc(self) -> str:
        """`host:port` as the Host header wants it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def head(self, method: str, path: str, length: int, headers: dict[str, str]) -> bytes:
        """The head of one request with a body of `length` bytes, ready to send."""
        lines = [f"{method} {self.prefix}{path} HTTP/1.1", f"Host: {self.netloc}", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@dataclass
class Exchange:
    """One request and what came back so far. It stays readable when the exchange breaks off half-way."""

    sent: float = 0.0  # clock just before the first request byte was written
    ended: float = 0.0  # clock at the end of the response, or at the fault
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)  # (clock right after the read, body bytes)

    @property
    def body(self) -> bytes:
        """All body bytes that came."""
        return b"".join(piece for _, piece in self.pieces)


class Connection:
    """A connection that opens when it is needed and again when the peer has closed it."""

    def __init__(self, endpoint: Endpoint, *, read_timeout: float = READ_TIMEOUT) -> None:
        self.endpoint = endpoint
        self._read_timeout = read_timeout
        self._socket: socket.socket | None = None

    def exchange(self, exchange: Exchange, head: bytes, body: bytes) -> None:
        """Send one request and read its response into `exchange`.

        Connecting is not part of the measured time: a user keeps its connection, so only its first request would pay.
        Raises OSError (refused, reset, timed out) or HttpError; `exchange` then holds what came before.
        """
        decoder = ResponseDecoder()
        exchange.sent = clock()  # stands when the connection is refused
        try:
            peer = self._open()
            exchange.sent = clock()
            self._send(peer, head, body)
            self._read(peer, decoder, exchange)
        except BaseException:  # a killed user too must not leave half a response on the connection
            self.close()
            raise
        finally:
            exchange.ended = clock()
            exchange.status, exchange.headers = decoder.status, decoder.headers
        if not decoder.keep_alive:
            self.close()

    def close(self) -> None:
        """Close the connection; the next exchange opens a new one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _open(self) -> socket.socket:
        # A kept connection on which something can be read before a request was sent has been closed by the peer.
        if self._socket is not None and select([self._socket], [], [], 0)[0]:
            self.close()
        if self._socket is None:
            self._socket = socket.create_connection((self.endpoint.host, self.endpoint.port), CONNECT_TIMEOUT)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(self._read_timeout)
        return self._socket

    def _send(self, peer: socket.socket, head: bytes, body: bytes) -> None:
        try:
            peer.sendall(head)
            peer.sendall(body)
        except (BrokenPipeError, ConnectionResetError):
            # A server may refuse a request (401, 413) and close while the body is still on its way. Its answer is
            # then the thing to read; without one the read fails in its turn.
            pass

    def _read(self, peer: socket.socket, decoder: ResponseDecoder, exchange: Exchange) -> None:
        while not decoder.done:
            data = peer.recv(BLOCK)
            now = clock()
            if not data:
                decoder.end()
                break
            piece = decoder.feed(data)
            if piece:
                exchange.pieces.append((now, piece))


__all__ = ["Connection", "Endpoint", "Exchange", "HttpError", "clock"]
