"""What a run of site.yml ends with. Pure functions, tested by tables."""

from __future__ import annotations

import json
from typing import Any

VERDICTS = {0: "good", 1: "WRONG", 2: "not checked"}


def verdicts(results: list[dict[str, Any]]) -> list[dict[str, str]]:
    """{model, verdict, why} for each run of smoke.

    `results`: its `item` (the model), exit code `rc`, `stdout` (one JSON document), `stderr`.
    """
    return [
        {"model": run["item"], "verdict": VERDICTS[min(run["rc"], 2)], "why": _why(run) if run["rc"] else ""}
        for run in results
    ]


def _why(run: dict[str, Any]) -> str:
    try:
        checks = json.loads(run["stdout"])["checks"]
    except (json.JSONDecodeError, KeyError):
        lines = str(run.get("stderr") or run.get("msg") or "").strip().splitlines()
        return lines[-1] if lines else f"exit code {run['rc']}"
    bad = [item for check in checks for item in check["evidence"] if item["verdict"] != "pass"]
    return "; ".join(f"{item['name']}: {item['saw']}" for item in bad)


def result_table(found: list[dict[str, str]], env: str) -> list[str]:
    """The lines that a run of site.yml ends with. `found`: of `verdicts`. `env`: text of .env."""
    values = dict(line.split("=", 1) for line in env.splitlines() if "=" in line and not line.startswith("#"))
    rows = [("model", "target", "URL", "key", "verdict")] + [
        (entry["model"], values["TARGET"], values["DOCK_URL"], f"cat {values['KEYS_DIR']}/user", entry["verdict"])
        for entry in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


class FilterModule:
    """What plays may call."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_verdicts": verdicts,
            "dock_result_table": result_table,
        }
