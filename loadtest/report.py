"""A finished run on disk: requests.jsonl (raw), summary.json and report.html, all derived from the first."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dock.errors import InputError
from loadtest.options import Options
from loadtest.page import to_html
from loadtest.records import Record


def save(options: Options, name: str, summary: dict[str, Any], records: Sequence[Record]) -> Path:
    """Write the report below `options.reports` and give back its folder; OSError when that cannot be done.

    The folder appears under its name only when all is in it.
    """
    folder = _free(options.reports / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    draft = folder.with_name(f".{folder.name}.part")
    draft.mkdir(parents=True)
    try:
        with (draft / "requests.jsonl").open("w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record.as_dict()) + "\n" for record in records)
        document = json.dumps(summary, indent=2) + "\n"
        (draft / "summary.json").write_text(document, encoding="utf-8")
        (draft / "report.html").write_text(to_html(summary, records), encoding="utf-8")
        draft.rename(folder)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    if options.summary is not None:
        _replace(options.summary, document)
    return folder


def check_places(options: Options) -> None:
    """Raise InputError where a report could not be written: found out before the run, not after it."""
    for option, wanted in (("--reports", options.reports), ("--summary", options.summary and options.summary.parent)):
        if wanted is None:
            continue
        there = next(folder for folder in (wanted.absolute(), *wanted.absolute().parents) if folder.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise InputError(f"found {there} no writable directory, need one for {option} {wanted}")


def environment_facts() -> dict[str, Any]:
    """What else a figure depends on: when, where and with which client."""
    return {
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "client_cpus": os.cpu_count(),
        "python": platform.python_version(),
        "locust": version("locust"),
        "gevent": version("gevent"),
    }


def _free(folder: Path) -> Path:
    """`folder`, or with a number behind it where two runs end in the same second."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.part")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
