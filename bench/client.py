"""The load test's streaming client against Locust's HttpUser, the accurate one of Locust's own, on the mock server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.core import Question, Result, alternate, judge
from dock.errors import DockError

USERS = 32
SECONDS = 5
TIMEOUT = 60


def bench_client(runs: int) -> list[Result]:
    """CPU per token of both, and how far both are off in TTFT. Goal: nowhere worse than the peer."""
    with mock() as port:
        ours, peers = alternate(runs, lambda: probe("own", port), lambda: probe("http-user", port))
    questions = {
        "cpu_s_per_1000_tokens": Question("client-cpu", "CPU s / 1k tokens", "Locust HttpUser", 1.0),
        "ttft_error_ms": Question("client-ttft-error", "ms, median", "Locust HttpUser", 1.0),
    }
    return [judge(question, column(ours, key), column(peers, key)) for key, question in questions.items()]


def column(results: list[dict[str, Any]], key: str) -> list[float]:
    """One figure of each run; the median where it has quantiles."""
    values = [result[key] for result in results]
    return [value["p50"] if isinstance(value, dict) else value for value in values]


@contextmanager
def mock(*options: str) -> Iterator[int]:
    """The mock server in a process of its own; its port."""
    command = [sys.executable, "-m", "loadtest.mock", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101  # both are pipes
        line = process.stdout.readline()
        if not line:
            raise DockError("found the mock server not starting, need it, do: python -m loadtest.mock")
        try:
            yield json.loads(line)["port"]
        finally:
            process.stdin.close()  # the mock ends with its input


def probe(reader: str, port: int, users: int = USERS, seconds: float = SECONDS) -> dict[str, Any]:
    """One run of bench.client_probe."""
    command = [sys.executable, "-m", "bench.client_probe", "--reader", reader, "--port", str(port)]
    command += ["--users", str(users), "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise DockError(f"found {' '.join(command[1:])} failing: {done.stderr.strip().splitlines()[-1:]}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result
