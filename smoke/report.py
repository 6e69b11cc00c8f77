"""The same findings three times: a table for the terminal, JSON for programs, a page for a browser. Pure functions."""

from __future__ import annotations

import base64
import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dock.pages import Page
from smoke.result import Evidence, Result, Verdict, worst

SCHEMA = 1
MARKS: dict[Verdict, str] = {"pass": "ok", "fail": "FAIL", "could-not-run": "not run"}


@dataclass(frozen=True)
class Outcome:
    """A finished run."""

    model: str
    revision: str | None
    target: str | None
    url: str
    quick: bool
    when: str  # ISO 8601, UTC
    results: tuple[Result, ...]
    read: str | None  # Markdown of the demo page; None when it could not be read
    report: str  # path of the HTML page

    @property
    def verdict(self) -> Verdict:
        """The worst of the checks."""
        return worst(result.verdict for result in self.results)

    def as_dict(self) -> dict[str, Any]:
        """The one JSON document; `schema` changes when a field changes its meaning."""
        return {
            "schema": SCHEMA,
            "model": self.model,
            "revision": self.revision,
            "target": self.target,
            "url": self.url,
            "quick": self.quick,
            "when": self.when,
            "verdict": self.verdict,
            "checks": [result.as_dict() for result in self.results],
            "read": self.read,
            "report": self.report,
        }


def table(results: Sequence[Result]) -> str:
    """One line for each piece of evidence; what was wanted, and why, only where it is not good."""
    rows = [(result.check, item) for result in results for item in result.evidence]
    wide = max((len(item.name) for _, item in rows), default=0)
    broad = max((len(check) for check, _ in rows), default=0)
    lines = []
    for check, item in rows:
        lines.append(f"{MARKS[item.verdict]:<8}{check:<{broad}}  {item.name:<{wide}}  {item.saw}")
        if item.verdict == "fail":
            indent = " " * (8 + broad + 2 + wide + 2)
            lines.append(f"{indent}wanted: {item.wanted} ({item.why})")
    return "\n".join(lines)


def closing(outcome: Outcome) -> str:
    """The end of the terminal output: verdict, the page's text, where the report lies."""
    counts = [item.verdict for result in outcome.results for item in result.evidence]
    seconds = sum(result.seconds for result in outcome.results)
    text = printable(outcome.read) if outcome.read is not None else "(the demo page could not be read)"
    return (
        f"\n{outcome.model}: {outcome.verdict}, {counts.count('pass')} of {len(counts)} good, {seconds:.1f} s\n\n"
        f"What the model read from the demo page:\n\n{textwrap.indent(text, '    ')}\n\nReport: {outcome.report}"
    )


def printable(text: str) -> str:
    """`text` without control characters but the line end: a model's output must not steer a terminal."""
    return "".join(one if one == "\n" or one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h1 span{padding:.1em .5em;border-radius:.3em;color:#fff}
.pass{background:#1b7f3b}.fail{background:#b3261e}.could-not-run{background:#8a6100}
td .tag{padding:.1em .5em;border-radius:.3em;color:#fff;font-size:.85em;white-space:nowrap}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px solid #ddd}
td{overflow-wrap:anywhere}small{color:#555}
.pages{display:flex;gap:1.5rem;flex-wrap:wrap;align-items:flex-start}.pages>*{flex:1 1 20rem;min-width:0}
img{max-width:100%;border:1px solid #ccc}pre{white-space:pre-wrap;background:#f6f6f6;padding:1rem;margin:0}
"""


def page(outcome: Outcome, demo: Page, truth: str) -> str:
    """One self-contained HTML page: verdict first, then the evidence, then the demo page beside its text."""
    rows = "".join(_row(result.check, item) for result in outcome.results for item in result.evidence)
    image = base64.b64encode(demo.data).decode("ascii")
    facts = {
        "model": outcome.model,
        "revision": outcome.revision,
        "target": outcome.target,
        "URL": outcome.url,
        "pages": "the demo page" if outcome.quick else "all",
        "when": outcome.when,
    }
    head = "".join(f"<tr><th>{name}</th><td>{_escape(value)}</td></tr>" for name, value in facts.items())
    read = "(could not be read)" if outcome.read is None else outcome.read
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>smoke {_escape(outcome.model)}: '
        f"{outcome.verdict}</title><style>{STYLE}</style></head><body>"
        f'<h1>{_escape(outcome.model)} <span class="{outcome.verdict}">{outcome.verdict}</span></h1>'
        f"<table>{head}</table><h2>Evidence</h2><table><tr><th></th><th>check</th><th>what</th><th>seen</th>"
        f'<th>wanted</th></tr>{rows}</table><h2>The demo page</h2><div class="pages">'
        f'<img alt="the page as it was sent" src="data:{demo.mime};base64,{image}">'
        f"<div><h3>Read</h3><pre>{_escape(read)}</pre><h3>Known text</h3><pre>{_escape(truth)}</pre></div></div>"
        "</body></html>\n"
    )


def _row(check: str, item: Evidence) -> str:
    tag = f'<span class="tag {item.verdict}">{MARKS[item.verdict]}</span>'
    return (
        f"<tr><td>{tag}</td><td>{_escape(check)}</td><td>{_escape(item.name)}</td><td>{_escape(item.saw)}</td>"
        f"<td>{_escape(item.wanted)}<br><small>{_escape(item.why)}</small></td></tr>"
    )


def _escape(value: object) -> str:
    return html.escape("unknown" if value is None else str(value))
