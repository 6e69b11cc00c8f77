"""loadtest.http1 and loadtest.client: framing cut anywhere, and one connection against a peer that misbehaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from gevent import sleep, socket
from gevent.server import StreamServer

from dock.errors import InputError
from loadtest.client import Connection, Endpoint, Exchange
from loadtest.http1 import HttpError, ResponseDecoder

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n"
    b"5\r\nhello\r\n6;name=value\r\n\r\n\xe9\xa1\xb5!\r\n0\r\nTrailer: x\r\n\r\n"
)
SIZED = b"HTTP/1.1 404 Not Found\r\ncontent-length: 3\r\nConnection: keep-alive\r\n\r\nno\n"


def decode(data: bytes, *cuts: int) -> tuple[bytes, ResponseDecoder]:
    decoder, body, start = ResponseDecoder(), b"", 0
    for cut in (*cuts, len(data)):
        body += decoder.feed(data[start:cut])
        start = cut
    return body, decoder


@pytest.mark.parametrize(
    ("data", "body", "status", "keep_alive"),
    [
        (CHUNKED, b"hello\r\n\xe9\xa1\xb5!", 200, True),
        (SIZED, b"no\n", 404, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"", 200, True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", 204, True),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED, b"no\n", 404, True),
        (SIZED.replace(b"keep-alive", b"close"), b"no\n", 404, False),
        (SIZED.replace(b"HTTP/1.1", b"HTTP/1.0"), b"no\n", 404, False),
    ],
)
def test_every_cut_of_a_response_gives_the_same(data: bytes, body: bytes, status: int, keep_alive: bool) -> None:
    for cut in range(len(data) + 1):
        got, decoder = decode(data, cut)
        assert (got, decoder.status, decoder.keep_alive, decoder.done) == (body, status, keep_alive, True)
    assert decode(data, *range(len(data)))[0] == body


def test_a_response_is_done_only_at_its_end() -> None:
    for data in (CHUNKED, SIZED):
        for cut in range(len(data)):
            assert not decode(data[:cut])[1].done


def test_body_without_length_ends_with_the_connection() -> None:
    body, decoder = decode(b"HTTP/1.1 200 OK\r\n\r\nsome")
    assert (body, decoder.done, decoder.keep_alive) == (b"some", False, False)
    decoder.end()
    assert decoder.done


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"SSH-2.0-x\r\n\r\n", "not an HTTP response"),
        (b"HTTP/1.1 abc\r\n\r\n", "not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "bad length '-1'"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", "bad length 'xyz'"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", "chunk longer than its size"),
        (b"x" * 70_000, "no end of the response head"),
    ],
)
def test_broken_framing_is_named(data: bytes, words: str) -> None:
    with pytest.raises(HttpError, match=words):
        decode(data)


@pytest.mark.parametrize(("data", "words"), [(b"", "before a response"), (CHUNKED[:-5], "inside the response")])
def test_early_end_is_named(data: bytes, words: str) -> None:
    _, decoder = decode(data)
    with pytest.raises(HttpError, match=words):
        decoder.end()


@pytest.mark.parametrize(
    ("url", "endpoint", "netloc"),
    [
        ("http://127.0.0.1:8080", Endpoint("127.0.0.1", 8080, ""), "127.0.0.1:8080"),
        ("http://host/", Endpoint("host", 80, ""), "host:80"),
        ("http://host:1/lightonocr/v1", Endpoint("host", 1, "/lightonocr"), "host:1"),
        ("http://[::1]:5", Endpoint("::1", 5, ""), "[::1]:5"),
    ],
)
def test_url_is_taken_apart(url: str, endpoint: Endpoint, netloc: str) -> None:
    assert Endpoint.parse(url) == endpoint
    assert endpoint.netloc == netloc


@pytest.mark.parametrize("url", ["https://host", "host:80", "http://", "http://host:port", "", "ftp://host"])
def test_other_urls_are_refused_in_one_line(url: str) -> None:
    with pytest.raises(InputError, match="need http://host:port") as caught:
        Endpoint.parse(url)
    assert "\n" not in str(caught.value)


class Peer:
    """A server that answers every request with the next of its scripts: bytes to send, or seconds to wait."""

    def __init__(self, *scripts: list[bytes | float], keep: bool = True) -> None:
        self.scripts = list(scripts)
        self.keep = keep
        self.connections = 0
        self.requests: list[bytes] = []

    def serve(self, client: socket.socket, _: object) -> None:
        self.connections += 1
        while self.scripts:
            request = client.recv(65536)
            if not request:
                return
            while not request.endswith(b"BODY"):
                request += client.recv(65536)
            self.requests.append(request)
            for step in self.scripts.pop(0):
                if isinstance(step, bytes):
                    client.sendall(step)
                else:
                    sleep(step)
            if not self.keep:
                return


@contextmanager
def connected(peer: Peer, read_timeout: float = 5.0) -> Iterator[Connection]:
    server = StreamServer(("127.0.0.1", 0), peer.serve)
    server.start()
    connection = Connection(Endpoint("127.0.0.1", server.server_port, ""), read_timeout=read_timeout)
    try:
        yield connection
    finally:
        connection.close()
        server.stop()


def ask(connection: Connection, exchange: Exchange | None = None) -> Exchange:
    exchange = exchange or Exchange()
    connection.exchange(exchange, connection.endpoint.head("POST", "/v1/x", 4, {"X-Id": "7"}), b"BODY")
    return exchange


def test_request_goes_out_as_it_was_made() -> None:
    peer = Peer([SIZED])
    with connected(peer) as connection:
        exchange = ask(connection)
        port = connection.endpoint.port
    assert peer.requests == [
        f"POST /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 4\r\nX-Id: 7\r\n\r\nBODY".encode()
    ]
    assert (exchange.status, exchange.body) == (404, b"no\n")


def test_connection_is_kept() -> None:
    peer = Peer([CHUNKED], [SIZED], [CHUNKED])
    with connected(peer) as connection:
        assert [ask(connection).status for _ in range(3)] == [200, 404, 200]
    assert peer.connections == 1


def test_connection_closed_between_requests_is_opened_again() -> None:
    peer = Peer([CHUNKED], [SIZED], keep=False)
    with connected(peer) as connection:
        first = ask(connection)
        sleep(0.05)  # let the peer's close arrive
        assert (first.status, ask(connection).status) == (200, 404)
    assert peer.connections == 2


def test_pieces_are_stamped_when_they_come() -> None:
    head, tail = CHUNKED[:90], CHUNKED[90:]
    peer = Peer([head, 0.2, tail])
    with connected(peer) as connection:
        before = time.monotonic()
        exchange = ask(connection)
        after = time.monotonic()
    stamps = [when for when, _ in exchange.pieces]
    assert before <= exchange.sent <= stamps[0] <= stamps[-1] <= exchange.ended <= after
    assert stamps[-1] - exchange.sent >= 0.2


def test_cut_answer_keeps_what_came() -> None:
    peer = Peer([CHUNKED[:-20]], keep=False)
    exchange = Exchange()
    with connected(peer) as connection, pytest.raises(HttpError, match="closed inside the response"):
        ask(connection, exchange)
    assert exchange.status == 200
    assert exchange.body.startswith(b"hello")
    assert exchange.ended >= exchange.sent > 0


def test_silent_server_times_out() -> None:
    peer = Peer([0.5])
    exchange = Exchange()
    with connected(peer, read_timeout=0.05) as connection, pytest.raises(TimeoutError):
        ask(connection, exchange)
    assert exchange.ended - exchange.sent < 0.5


def test_after_a_fault_the_next_request_starts_afresh() -> None:
    """A half-read response must not be taken for the beginning of the next one."""
    peer = Peer([b"HTTP/1.1 200 OK\r\ncontent-length: nine\r\n\r\nrest"], [SIZED])
    with connected(peer) as connection:
        with pytest.raises(HttpError):
            ask(connection)
        assert ask(connection).status == 404
    assert peer.connections == 2


def test_refused_connection_is_an_os_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    exchange = Exchange()
    with pytest.raises(ConnectionRefusedError):
        ask(Connection(Endpoint("127.0.0.1", port, "")), exchange)
    assert exchange.sent > 0
