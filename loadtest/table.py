"""The summary of a run as lines for a terminal. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TIMES = {
    "ttft_ms": "TTFT ms: first token - sent",
    "itl_ms": "ITL ms: gap per token, pooled",
    "tpot_ms": "TPOT ms: per request, without the first token",
    "e2e_ms": "E2E ms: last token - sent",
}


def render(summary: dict[str, Any], folder: Path | None) -> list[str]:
    """Lines of the table; `n/a` stands where the run has too few values for a figure."""
    setup, requests = summary["setup"], summary["requests"]
    count = f"{requests['ok']} ok, {requests['failed']} failed, {requests['cut']} cut, {requests['warmup']} warm-up"
    count += f" ({requests['warmup_failed']} failed)" if requests["warmup_failed"] else ""
    lines = [
        "",
        f"{setup['locustfile']}: {setup['model']} at {setup['url']}: {headline(summary)}",
        f"  {'window':<46} {number(summary['window_s'])} s, {summary['users']} users, "
        f"mean concurrency {number(summary['mean_concurrency'])}",
        f"  {'requests':<46} {count}",
        f"  {'pages/s':<46} {number(summary['pages_per_s'])}",
        f"  {'output tokens/s':<46} {number(summary['output_tokens_per_s'])}",
        f"  {'tokens a page':<46} {number(summary['output_tokens_per_page'])} out, "
        f"{number(summary['prompt_tokens_per_page'])} in",
        f"  {'answers cut at max_tokens':<46} {summary['truncated']}",
        f"  {'answers whose usage disagrees with their ids':<46} {summary['miscounted']}",
        f"  {'':<46} {'n':>8} {'mean':>9} {'p50':>9} {'p95':>9} {'p99':>9}",
    ]
    for key, title in TIMES.items():
        figures = [summary[key][column] for column in ("n", "mean", "p50", "p95", "p99")]
        cells = " ".join(f"{number(figure):>9}" for figure in figures[1:])
        lines.append(f"  {title:<46} {figures[0]:>8} {cells}")
    lines += [f"  failed {often} x: {failure}" for failure, often in summary["failures"].items()]
    lines.append(f"  {'report':<46} {folder / 'report.html' if folder else 'not written'}")
    return lines


def headline(summary: dict[str, Any]) -> str:
    """The verdict and its reason."""
    reasons = {
        "pass": "pass",
        "fail": "FAIL: a request failed",
        "void": "VOID: no request of the measuring window was answered, do: give a longer -t",
    }
    return reasons[summary["verdict"]] + (" (interrupted)" if summary["interrupted"] else "")


def number(value: float | None) -> str:
    """Four significant digits, or n/a."""
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
