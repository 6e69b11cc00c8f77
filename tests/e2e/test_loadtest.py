"""`locust -f loadtest/ocr.py` against the running stack: the real engine behind the real gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from dock.settings import Settings
from tests.conftest import SOAK, run

SIZES = [(595, 842), (612, 792), (842, 595), (200, 700), (1200, 1200)]  # A4, Letter, lying, a receipt, a poster; points
SECONDS = 120 if SOAK else 30


def locust(tmp_path: Path, *arguments: str | Path, code: int = 0) -> tuple[str, dict[str, Any]]:
    """Standard output and error of a headless run that ends with `code`, and its summary if it wrote one."""
    done = run("locust", "-f", "loadtest/ocr.py", "--headless", "--reports", tmp_path / "reports", *arguments)
    output = done.stdout + done.stderr
    assert done.returncode == code, output[-6000:]
    assert "Traceback" not in output
    summaries = list(tmp_path.glob("reports/*/summary.json"))
    return output, json.loads(summaries[0].read_text()) if summaries else {}


def test_four_users_without_a_failure(stack: Settings, tmp_path: Path) -> None:
    """The command of the front page: no failed request, and the server's count of tokens agrees with ours."""
    output, summary = locust(tmp_path, "-u", "4", "-r", "2", "-t", f"{SECONDS}s")
    assert summary["verdict"] == "pass"
    assert summary["requests"]["failed"] == summary["requests"]["warmup_failed"] == summary["miscounted"] == 0
    assert summary["users"] == 4
    assert summary["mean_concurrency"] == pytest.approx(4, abs=0.5)
    assert 0 < summary["ttft_ms"]["mean"] < summary["e2e_ms"]["mean"]
    assert summary["output_tokens_per_s"] > 0
    for row in ("TTFT", "output token: ITL, req/s = tokens/s", "page: E2E, req/s = pages/s"):
        assert row in output
    assert summary["setup"]["url"] == stack.url


def test_pages_of_every_size(stack: Settings, tmp_path: Path) -> None:
    """A PDF that mixes formats goes through whole: each page is asked for, none fails."""
    document = pypdfium2.PdfDocument.new()
    for width, height in SIZES:
        document.new_page(width, height)
    document.save(tmp_path / "mixed.pdf")
    _, summary = locust(
        tmp_path, "--pages", tmp_path / "mixed.pdf", "--max-tokens", "16", "-u", "2", "-t", "10s", "--host", stack.url
    )
    assert summary["requests"]["failed"] == summary["requests"]["warmup_failed"] == 0
    [records] = tmp_path.glob("reports/*/requests.jsonl")
    asked = {json.loads(line)["page"] for line in records.read_text().splitlines()}
    assert asked == {f"mixed.pdf#{number}" for number in range(1, len(SIZES) + 1)}


def test_key_without_the_operator_scope_is_told(stack: Settings, tmp_path: Path) -> None:
    key_file = stack.root / stack.get("KEYS_DIR") / "user"
    output, summary = locust(tmp_path, "--key-file", key_file, "-t", "5s", code=2)
    assert "need scope `operator`" in output
    assert summary == {}


def test_wrong_key_is_told(stack: Settings, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no-such-key\n")
    output, _ = locust(tmp_path, "--host", stack.url, "--key-file", tmp_path / "key", "-t", "5s", code=2)
    assert "error: found the key refused by" in output


def test_answer_longer_than_the_context_is_told(stack: Settings, tmp_path: Path) -> None:
    """The engine's own 400 reaches the person before any load is sent."""
    output, _ = locust(tmp_path, "--host", stack.url, "--max-tokens", "1000000", "-t", "5s", code=2)
    assert "error: found HTTP 400: " in output
