"""The summary of a run as one HTML page that needs nothing but itself. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from loadtest.records import Record, e2e, ttft
from loadtest.table import TIMES, headline, number

STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #1a7f37; --bad: #c62828; --mark: #3572b0; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-weight: 600; } .pass { color: var(--good); } .fail, .void { color: var(--bad); }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
th { text-align: left; font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; } pre { white-space: pre-wrap; overflow-wrap: anywhere; }
svg { width: 100%; height: auto; } svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
"""


def to_html(summary: dict[str, Any], records: Sequence[Record]) -> str:
    """The whole page."""
    setup = summary["setup"]
    title = f"{setup['locustfile']}: {setup['model']}, {setup['finished']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict {summary["verdict"]}">{escape(headline(summary))}</p>',
        "<h2>Figures</h2>",
        table(("figure", "value"), figures(summary)),
        "<h2>Times</h2>",
        table(("", "n", "mean", "p50", "p95", "p99"), times(summary)),
        "<p>n/a: too few values for a 95 % interval of that quantile.</p>",
        "<h2>Output tokens per second of the run</h2>",
        chart(tokens_per_second(records)),
        "<h2>Pages</h2>",
        table(("page", "requests", "failed", "tokens", "TTFT ms, mean", "E2E ms, mean"), pages(records)),
    ]
    if summary["failures"]:
        parts += ["<h2>Failures</h2>", table(("failure", "how often"), summary["failures"].items())]
    parts += ["<h2>Set-up</h2>", f"<pre>{escape(json.dumps(setup, indent=2))}</pre>"]
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</html>\n"
    )


def figures(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """Rows of the table of plain figures."""
    requests = summary["requests"]
    return [
        ("pages/s", number(summary["pages_per_s"])),
        ("output tokens/s", number(summary["output_tokens_per_s"])),
        ("measuring window, s", number(summary["window_s"])),
        ("users", str(summary["users"])),
        ("mean concurrency", number(summary["mean_concurrency"])),
        ("requests ok", str(requests["ok"])),
        ("requests failed", str(requests["failed"])),
        ("requests cut at the end", str(requests["cut"])),
        ("warm-up requests, in no figure", f"{requests['warmup']} ({requests['warmup_failed']} failed)"),
        ("TTFT of the first request of all, ms", number(summary["cold_ttft_ms"])),
        ("output tokens a page", number(summary["output_tokens_per_page"])),
        ("prompt tokens a page", number(summary["prompt_tokens_per_page"])),
        ("answers cut at max_tokens", str(summary["truncated"])),
        ("answers whose usage disagrees with their token ids", str(summary["miscounted"])),
    ]


def times(summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """Rows of the table of times."""
    columns = ("mean", "p50", "p95", "p99")
    return [
        (title, str(summary[key]["n"]), *(number(summary[key][column]) for column in columns))
        for key, title in TIMES.items()
    ]


def pages(records: Iterable[Record]) -> list[tuple[str, ...]]:
    """Per page: how often it was asked for and how long it took. Warm-up and cut requests are left out."""
    by_page: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if not record.warmup and not record.cut:
            by_page[record.page].append(record)
    rows: list[tuple[str, ...]] = []
    for name, group in by_page.items():
        good = [record for record in group if record.ok]
        rows.append(
            (
                name,
                str(len(group)),
                str(len(group) - len(good)),
                number(_mean(record.tokens for record in good)),
                number(_mean((ttft(record) or 0) * 1000 for record in good)),
                number(_mean((e2e(record) or 0) * 1000 for record in good)),
            )
        )
    return rows


def tokens_per_second(records: Iterable[Record]) -> list[int]:
    """Output tokens received in each second since the first request was sent."""
    received = [(when, count) for record in records for when, count in zip(record.times, record.counts, strict=True)]
    if not received:
        return []
    start = min(record.t0 for record in records)
    seconds = [0] * (int(max(when for when, _ in received) - start) + 1)
    for when, count in received:
        seconds[int(when - start)] += count
    return seconds


def chart(values: Sequence[int]) -> str:
    """A bar for each value, with the largest written beside it."""
    if not values:
        return "<p>No token came.</p>"
    width, height, left = 800, 160, 50
    top = max(values)
    step = (width - left) / len(values)
    bars = "".join(
        f'<rect x="{left + i * step:.1f}" y="{height - height * value / top:.1f}" width="{max(step - 1, 0.5):.1f}" '
        f'height="{height * value / top:.1f}"><title>second {i}: {value} tokens</title></rect>'
        for i, value in enumerate(values)
    )
    return (
        f'<svg viewBox="0 0 {width} {height + 20}" role="img" aria-label="output tokens per second" '
        f'fill="var(--mark)">{bars}<text x="0" y="10">{top}/s</text><text x="0" y="{height}">0</text>'
        f'<text x="{left}" y="{height + 15}">0 s</text>'
        f'<text x="{width}" y="{height + 15}" text-anchor="end">{len(values)} s</text></svg>'
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; every column but the first holds numbers."""

    def line(tag: str, cells: Sequence[object]) -> str:
        first, *rest = (escape(str(cell)) for cell in cells)
        return f"<tr><{tag}>{first}</{tag}>" + "".join(f'<{tag} class="n">{cell}</{tag}>' for cell in rest) + "</tr>"

    body = "\n".join(line("td", row) for row in rows)
    return f'<div class="wide"><table>\n{line("th", head)}\n{body}\n</table></div>'


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
