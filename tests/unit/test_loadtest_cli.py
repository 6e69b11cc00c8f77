"""`locust -f loadtest/ocr.py` as a person types it, against the mock server: output, reports, exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bench.client import mock
from dock.settings import ROOT

KEY = "k1"
FAST = ("--model", "lightonocr", "--key", KEY, "--ttft", "0.02", "--gap", "0.002", "--tokens", "10")
LOAD = ("-u", "2", "-r", "10", "-t", "2s")


class Installation:
    """Keys, one page and a place for reports, as .env would name them."""

    def __init__(self, folder: Path) -> None:
        (folder / "operator").write_text(KEY + "\n")
        Image.new("RGB", (20, 30), "white").save(folder / "page.png")
        self.folder = folder
        self.page = folder / "page.png"
        self.reports = folder / "reports"
        self.environment = os.environ | {"KEYS_DIR": str(folder), "LIGHTONOCR_REVISION": "standin-test"}
        self.environment.pop("LOCUST_SKIP_MONKEY_PATCH", None)

    def command(self, *arguments: str) -> list[str]:
        locust = [sys.executable, "-m", "locust", "-f", "loadtest/ocr.py", "--reports", str(self.reports)]
        return [*locust, "--pages", str(self.page), *arguments]

    def locust(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command("--headless", *arguments),
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def summary(self) -> dict[str, Any]:
        [folder] = self.reports.iterdir()
        assert sorted(path.name for path in folder.iterdir()) == ["report.html", "requests.jsonl", "summary.json"]
        document: dict[str, Any] = json.loads((folder / "summary.json").read_text())
        return document


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with mock(*FAST) as port:
        yield f"http://127.0.0.1:{port}"


def test_headless_run(here: Installation, server: str) -> None:
    """Exit 0; all four figures in Locust's own table and in the report, and they agree."""
    done = here.locust("--host", server, *LOAD)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    last_table = done.stderr[done.stderr.rindex("Shutting down") :]
    for row in ("/v1/chat/completions", "TTFT", "output token: ITL, req/s = tokens/s", "page: E2E, req/s = pages/s"):
        assert row in last_table
    summary = here.summary()
    assert summary["verdict"] == "pass"
    assert summary["requests"]["ok"] > 5
    assert summary["requests"]["failed"] == summary["miscounted"] == 0
    assert summary["output_tokens_per_page"] == 10
    assert summary["output_tokens_per_s"] == pytest.approx(10 * summary["pages_per_s"], rel=0.1)
    assert summary["setup"]["workload"]["max_tokens"] == 512  # the stand-in's
    shown = next(line for line in last_table.splitlines() if "output token" in line)
    assert float(shown.split("|")[-1].split()[0]) == pytest.approx(summary["output_tokens_per_s"], rel=0.05)
    assert f"{summary['requests']['ok']} ok, 0 failed" in done.stdout
    assert "report.html" in done.stdout
    assert KEY not in done.stdout + done.stderr + json.dumps(summary["setup"])


def test_raw_records_hold_every_request(here: Installation, server: str) -> None:
    done = here.locust("--host", server, *LOAD, "--summary", str(here.folder / "s.json"))
    assert done.returncode == 0, done.stderr
    summary = json.loads((here.folder / "s.json").read_text())
    [path] = here.reports.glob("*/requests.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    counts = summary["requests"]
    assert len(records) == counts["sent"] + counts["warmup"] + counts["cut"]
    assert {sum(record["counts"]) for record in records} == {10}
    assert len({record["request_id"] for record in records}) == len(records)


@pytest.mark.parametrize(("fault", "words"), [("--refuse", "HTTP 503: no engine is up"), ("--cut", "closed inside")])
def test_a_failed_request_is_counted_and_told(here: Installation, fault: str, words: str) -> None:
    """Every third request fails: exit 1, and the table says how often and why."""
    with mock(*FAST, fault, "3") as port:
        done = here.locust("--host", f"http://127.0.0.1:{port}", *LOAD)
    assert done.returncode == 1
    assert "FAIL: a request failed" in done.stdout
    assert words in done.stdout
    assert "Traceback" not in done.stderr
    summary = here.summary()
    assert summary["verdict"] == "fail"
    assert summary["requests"]["failed"] + summary["requests"]["warmup_failed"] > 0


def test_run_too_short_to_measure_is_void(here: Installation) -> None:
    with mock("--model", "lightonocr", "--key", KEY, "--ttft", "1.5", "--tokens", "2") as port:
        done = here.locust("--host", f"http://127.0.0.1:{port}", "-u", "1", "-t", "1s")
    assert done.returncode == 2
    assert "VOID" in done.stdout
    assert here.summary()["verdict"] == "void"


def test_json_of_locust_stays_alone_on_standard_output(here: Installation, server: str) -> None:
    done = here.locust("--host", server, *LOAD, "--json")
    assert done.returncode == 0
    assert {row["name"] for row in json.loads(done.stdout)} >= {"TTFT", "/v1/chat/completions"}
    assert "pages/s" in done.stderr


def test_interrupted_run_leaves_a_marked_report(here: Installation, server: str) -> None:
    process = subprocess.Popen(
        here.command("--headless", "--host", server, "-u", "2", "-r", "10", "-t", "60s"),
        cwd=ROOT,
        env=here.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "(interrupted)" in out
    assert "Traceback" not in err
    assert here.summary()["interrupted"] is True


def refused_port() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", refused_port()], "error: found no server at http://127.0.0.1:"),
        (["--host", "SERVER", "--key-file", "FOLDER/wrong"], "error: found the key refused by http://127.0.0.1:"),
        (["--host", "SERVER", "--key-file", "FOLDER/none"], "error: found --key-file"),
        (["--host", "SERVER", "--pages", "FOLDER/none.pdf"], "error: found no "),
        (["--host", "SERVER", "--pages", "FOLDER/text.pdf"], "that is no PDF, PNG or JPEG"),
        (["--host", "SERVER", "--model", "gpt"], "error: found no model 'gpt', need one of: "),
        (["--host", "SERVER", "--max-tokens", "many"], "error: found --max-tokens many, need a whole number"),
        (["--host", "SERVER", "--reports", "FOLDER/wrong/x"], "no writable directory, need one for --reports"),
        (["--host", "https://x"], "error: found 'https://x', need http://host:port"),
        (["--host", "SERVER", "--processes", "2"], "need one process"),
    ],
    ids=["stopped", "key", "key-file", "no-file", "no-pdf", "model", "number", "reports", "https", "processes"],
)
def test_bad_input_is_one_line_and_exit_2(here: Installation, server: str, arguments: list[str], words: str) -> None:
    (here.folder / "wrong").write_text("other\n")
    (here.folder / "text.pdf").write_text("text")
    filled = [part.replace("SERVER", server).replace("FOLDER", str(here.folder)) for part in arguments]
    done = here.locust(*LOAD, *filled)
    assert done.returncode == 2, done.stderr
    errors = [line for line in done.stderr.splitlines() if "INFO" not in line]
    assert len([line for line in errors if words in line]) >= 1, done.stderr
    assert all(line.startswith("error: found ") for line in errors), done.stderr
    assert "need" in errors[0]
    assert not here.reports.exists()


def test_model_that_the_server_has_not(here: Installation) -> None:
    with mock("--model", "other", "--key", KEY) as port:
        done = here.locust("--host", f"http://127.0.0.1:{port}", *LOAD)
    assert done.returncode == 2
    assert "error: found no model 'lightonocr' at" in done.stderr
    assert "(it serves: other)" in done.stderr


def test_web_page(here: Installation, server: str) -> None:
    """The rows are in the statistics that the page draws; stopping there writes a report; the process ends clean.

    A mistake in the form is told in the page's log and can be corrected there.
    """
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        here.command("--host", server, "--web-host", "127.0.0.1", "--web-port", str(port)),
        cwd=ROOT,
        env=here.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        page = wait_for(base + "/")
        assert "max_tokens" in page
        assert "key_file" not in page
        bad = {"user_count": 2, "spawn_rate": 10, "host": server, "pages": "/nowhere.pdf"}
        assert json.loads(fetch(base + "/swarm", bad))["success"] is True
        time.sleep(1)
        assert "no run: found no /nowhere.pdf" in fetch(base + "/logs")
        assert "Aggregated" in fetch(base + "/stats/requests")
        fetch(base + "/stop", {})
        form = {"user_count": 2, "spawn_rate": 10, "host": server, "pages": str(here.page), "max_tokens": "9"}
        assert json.loads(fetch(base + "/swarm", form))["success"] is True
        time.sleep(3)
        rows = {row["name"]: row for row in json.loads(fetch(base + "/stats/requests"))["stats"]}
        assert rows["TTFT"]["num_requests"] > 0
        assert rows["output token: ITL, req/s = tokens/s"]["total_rps"] > 50
        assert rows["page: E2E, req/s = pages/s"]["total_rps"] > 5
        assert rows["Aggregated"]["num_requests"] < 2 * rows["TTFT"]["num_requests"] + 10
        fetch(base + "/stop", {})
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert "pages/s" in out
    summary = here.summary()
    assert (summary["verdict"], summary["users"], summary["setup"]["workload"]["max_tokens"]) == ("pass", 2, 9)


def wait_for(url: str) -> str:
    deadline = time.monotonic() + 20
    while True:
        try:
            return fetch(url)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def fetch(url: str, form: dict[str, Any] | None = None) -> str:
    data = None if form is None else urllib.parse.urlencode(form).encode()
    with urllib.request.urlopen(url, data, timeout=20) as response:
        text: str = response.read().decode()
        return text
