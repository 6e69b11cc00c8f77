"""One streaming client against the mock server, in a process of its own: what it costs and how far off it reads.

    python -m bench.client_probe --reader own|http-user|iter-lines --port N --users 16 --seconds 4

Prints one JSON object. Errors come from the `sent` stamps that the mock puts into every event:
TTFT error = first token's stamp - `sent`; ITL error = |client's gap - server's gap|.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import gevent
from locust import FastHttpUser, HttpUser
from locust.env import Environment

from loadtest.client import Connection, Endpoint, Exchange, clock
from loadtest.sse import SseDecoder

PATH = "/v1/chat/completions"
HEADERS = {"Content-Type": "application/json"}
BODY = json.dumps({"model": "mock", "messages": "x" * 300_000}).encode("ascii")  # about a page
Arrival = tuple[float, float]  # (client's stamp, server's `sent`) of one token
Ask = Callable[[], list[Arrival]]


def own(host: str) -> Ask:
    """The load test's reader."""
    connection = Connection(Endpoint.parse(host))
    head = connection.endpoint.head("POST", PATH, len(BODY), HEADERS)

    def ask() -> list[Arrival]:
        exchange, decoder = Exchange(), SseDecoder()
        connection.exchange(exchange, head, BODY)
        return arrivals((when, b"data: " + data) for when, piece in exchange.pieces for data in decoder.feed(piece))

    return ask


def http_user(host: str) -> Ask:
    """Locust's HttpUser, the accurate one of its readers: each line as `requests` yields it."""
    user = type("Probe", (HttpUser,), {"host": host})(Environment())

    def ask() -> list[Arrival]:
        with user.client.post(PATH, data=BODY, headers=HEADERS, stream=True, catch_response=True) as response:
            return arrivals([(clock(), line) for line in response.iter_lines()])

    return ask


def iter_lines(host: str) -> Ask:
    """Locust's FastHttpUser.iter_lines, which reads blocks of 1024 bytes: the fault that the load test avoids."""
    user = type("Probe", (FastHttpUser,), {"host": host})(Environment())

    def ask() -> list[Arrival]:
        lines = user.client.iter_lines(PATH, method="POST", data=BODY, headers=HEADERS)
        return arrivals([(clock(), line.encode()) for line in lines])

    return ask


READERS: dict[str, Callable[[str], Ask]] = {"own": own, "http-user": http_user, "iter-lines": iter_lines}


def arrivals(lines: Iterable[tuple[float, bytes]]) -> list[Arrival]:
    """The tokens among stamped lines; parsed only here, after the stream, for every reader alike."""
    tokens = []
    for when, line in lines:
        if line.startswith(b"data: {"):
            event = json.loads(line[6:])
            if "sent" in event:
                tokens.append((when, event["sent"]))
    return tokens


def errors(streams: list[list[Arrival]]) -> dict[str, Any]:
    """Quantiles over all streams, in ms."""
    first = [1000 * (stream[0][0] - stream[0][1]) for stream in streams if stream]
    pairs = [pair for stream in streams for pair in itertools.pairwise(stream)]
    gaps = [1000 * (b[0] - a[0]) for a, b in pairs]
    true = [1000 * (b[1] - a[1]) for a, b in pairs]
    return {
        "streams": len(first),
        "ttft_error_ms": quantiles(first),
        "itl_error_ms": quantiles([abs(x - y) for x, y in zip(gaps, true, strict=True)]),
        "itl_ms": quantiles(gaps),
        "true_itl_ms": quantiles(true),
    }


def quantiles(values: list[float]) -> dict[str, float]:
    """Median and p99 (nearest rank)."""
    ordered = sorted(values)
    return {name: round(ordered[min(len(ordered) - 1, int(len(ordered) * q))], 3) for name, q in _QUANTILES}


_QUANTILES = (("p50", 0.5), ("p99", 0.99))


def rounds(ask: Ask, until: float) -> list[list[Arrival]]:
    """The answers of one user until the time is up."""
    streams = []
    while clock() < until:
        streams.append(ask())
    return streams


def probe(reader: str, host: str, users: int, seconds: float) -> dict[str, Any]:
    """Run `users` greenlets; the first answer of each (connections, first wave) is left out of every figure."""
    asks = [READERS[reader](host) for _ in range(users)]
    gevent.joinall([gevent.spawn(ask) for ask in asks], raise_error=True)
    cpu, until = time.process_time(), clock() + seconds
    jobs = [gevent.spawn(rounds, ask, until) for ask in asks]
    gevent.joinall(jobs, raise_error=True)
    spent = time.process_time() - cpu
    streams = [stream for job in jobs for stream in job.value or []]
    tokens = sum(map(len, streams))
    return {"reader": reader, "tokens": tokens, "cpu_s_per_1000_tokens": 1000 * spent / tokens, **errors(streams)}


def main() -> None:
    """Measure one reader."""
    parser = argparse.ArgumentParser(prog="python -m bench.client_probe", description=__doc__)
    parser.add_argument("--reader", choices=READERS, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=4.0)
    args = parser.parse_args()
    result = probe(args.reader, f"http://127.0.0.1:{args.port}", args.users, args.seconds)
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
