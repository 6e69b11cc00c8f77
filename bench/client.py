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

USERS = 64  # 3,200 tokens/s: enough that a reader's own work gets in the way of its time stamps
SECONDS = 5
TIMEOUT = 60


def bench_client(runs: int) -> list[Result]:
    """CPU per token of both, and how far both are off at worst in ITL. Goal: nowhere worse than the peer.

    The median errors of both are near 0.1 ms, which is the noise of the machine; the tail is where they differ.
    """
    with mock() as port:
        ours, peers = alternate(runs, lambda: probe("own", port), lambda: probe("http-user", port))
    cpu = Question("client-cpu", "CPU s / 1k tokens", "Locust HttpUser", 1.0)
    itl = Question("client-itl-error", "ms, p99", "Locust HttpUser", 1.0)
    return [
        judge(cpu, [run["cpu_s_per_1000_tokens"] for run in ours], [run["cpu_s_per_1000_tokens"] for run in peers]),
        judge(itl, [run["itl_error_ms"]["p99"] for run in ours], [run["itl_error_ms"]["p99"] for run in peers]),
    ]


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
