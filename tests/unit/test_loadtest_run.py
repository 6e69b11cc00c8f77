"""loadtest.run, live, workload, options and reports: what a run counts, when, and under which name."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

# Locust patches the standard library when it is imported, which other tests in this process did not ask for.
os.environ["LOCUST_SKIP_MONKEY_PATCH"] = "1"
from locust.env import Environment

from loadtest import live

del os.environ["LOCUST_SKIP_MONKEY_PATCH"]

from dock import catalog
from dock.errors import InputError, SettingsError
from dock.settings import Settings
from loadtest.client import clock
from loadtest.options import Options, refuse_workers
from loadtest.page import chart, to_html, tokens_per_second
from loadtest.records import CUT, Record
from loadtest.report import save
from loadtest.run import Run
from loadtest.summary import Window, summarise
from loadtest.table import number, render
from loadtest.workload import Item, Workload, load_config, ocr_workload


@pytest.fixture
def environment() -> Environment:
    environment = Environment()
    environment.create_local_runner()
    return environment


def record(start: float, **changes: Any) -> Record:
    """Ten tokens, the first after 100 ms, then one every 20 ms."""
    times = tuple(start + 0.1 + 0.02 * i for i in range(10))
    whole = Record(1, "a.pdf#1", "x", start, times[-1] + 0.01, times=times, counts=(1,) * 10, completion_tokens=10)
    return replace(whole, **changes)


def test_rows_hold_each_figure_in_its_unit(environment: Environment) -> None:
    """Times in ms, rates as counts: and nothing but requests in the Aggregated row."""
    rows, start = live.LiveRows(environment), clock()
    window = Window(start, start + 10)
    for i in range(3):
        rows.log(record(start + i), 1000, window)
    rows.log(record(start + 3, failure="HTTP 503: x", times=(), counts=()), 10, window)
    rows.close(window)
    entries = environment.stats.entries
    assert set(entries) == {(live.PATH, "POST"), *((name, "METRIC") for name in (live.TTFT, live.TOKEN, live.PAGE))}
    assert (environment.stats.total.num_requests, environment.stats.total.num_failures) == (4, 1)
    assert entries[(live.PATH, "POST")].num_requests == 4
    ttft, token, page = (entries[(name, "METRIC")] for name in (live.TTFT, live.TOKEN, live.PAGE))
    assert (ttft.num_requests, token.num_requests, page.num_requests) == (3, 30, 3)
    assert ttft.avg_response_time == pytest.approx(100)
    assert token.avg_response_time == pytest.approx(20)  # over the 27 tokens that have a gap
    assert token.num_none_requests == 3
    assert page.median_response_time == pytest.approx(280)
    assert sum(token.num_reqs_per_sec.values()) == 30
    assert token.num_failures == page.num_failures == 0


def test_rates_of_the_rows_are_those_of_the_window(environment: Environment) -> None:
    """Locust divides by the time from reset to last request; after `close` that is the window."""
    rows, start = live.LiveRows(environment), clock()
    rows.open()
    window = Window(start, start + 10)
    for i in range(5):
        rows.log(record(start + i), 1000, window)
    rows.close(window)
    entries = environment.stats.entries
    assert entries[(live.TOKEN, "METRIC")].total_rps == pytest.approx(5.0, rel=0.01)
    assert entries[(live.PAGE, "METRIC")].total_rps == pytest.approx(0.5, rel=0.01)


def test_warm_up_stands_in_a_row_of_its_own(environment: Environment) -> None:
    rows, start = live.LiveRows(environment), clock()
    rows.log(record(start - 0.15, warmup=True), 1000, Window(start, start + 1))
    entries = environment.stats.entries
    assert entries[(live.WARMUP, "POST")].num_requests == 1
    assert (live.PATH, "POST") not in entries
    assert (live.TTFT, "METRIC") not in entries
    token = entries[(live.TOKEN, "METRIC")]
    assert (token.num_requests, token.num_none_requests) == (7, 7)  # three came before the window


@pytest.mark.parametrize(("ms", "kept"), [(0.04, 0.0), (8.44, 8.4), (99.96, 100.0), (123.4, 123), (1234, 1230)])
def test_buckets_keep_three_digits(ms: float, kept: float) -> None:
    assert live.fine_bucket(ms) == kept


class Rows:
    """Takes the place of LiveRows where a test is about the window alone."""

    def __init__(self) -> None:
        self.opened = 0
        self.logged: list[tuple[Record, Window]] = []

    def open(self) -> None:
        self.opened += 1

    def close(self, window: Window) -> None:
        self.closed = window

    def log(self, record: Record, _: int, window: Window) -> None:
        self.logged.append((record, window))


def new_run() -> tuple[Run, Rows]:
    rows, ticks = Rows(), count(100)
    return Run(iter([Item("a", b"")]), rows, now=lambda: float(next(ticks))), rows  # type: ignore[arg-type]


def test_window_opens_when_all_users_are_there_and_answered() -> None:
    run, rows = new_run()
    assert [run.join(), run.join()] == [1, 2]
    run.add(record(0, user=1), 1)
    run.all_spawned()
    assert run.warming_up
    run.add(record(0, user=1), 1)
    assert run.warming_up  # user 2 has had nothing yet
    run.add(record(0, user=2), 1)
    assert not run.warming_up
    assert run.measuring
    assert rows.opened == 1
    opened = run.window.opened
    run.all_spawned()  # more users from the web page: the window stays
    assert (run.window.opened, rows.opened) == (opened, 1)


def test_a_failed_first_answer_opens_the_window_too() -> None:
    """Else a server that fails for one user would leave the whole run without figures."""
    run, _ = new_run()
    run.join()
    run.all_spawned()
    run.add(record(0, user=1, failure="HTTP 500: x"), 1)
    assert run.measuring


def test_window_closes_once_and_never_opens_after() -> None:
    run, rows = new_run()
    run.join()
    run.all_spawned()
    run.close()
    closed = run.window.closed
    run.close()
    run.add(record(0), 1)
    assert run.window == Window(None, closed)
    assert not run.measuring
    assert rows.opened == 0


def test_cut_requests_are_kept_but_no_row_counts_them() -> None:
    run, rows = new_run()
    run.join()
    run.add(record(0, failure=CUT), 0)
    assert len(run.records) == 1
    assert rows.logged == []


def test_order_is_the_same_for_the_same_seed_and_shows_every_item_each_round() -> None:
    workload = Workload(tuple(Item(str(i), b"") for i in range(5)))
    first = [item.name for item in islice(workload.order(1), 15)]
    assert first == [item.name for item in islice(workload.order(1), 15)]
    assert first != [item.name for item in islice(workload.order(2), 15)]
    for start in (0, 5, 10):
        assert sorted(first[start : start + 5]) == ["0", "1", "2", "3", "4"]


def test_requests_of_the_ocr_workload(tmp_path: Path) -> None:
    """One image, no text, streamed, all sampling fields explicit, tokens counted by the server."""
    Image.new("RGB", (10, 10)).save(tmp_path / "a.png")
    model = catalog.find("lightonocr")
    config = load_config(model, Settings({"LIGHTONOCR_REVISION": "abc"}))
    workload = ocr_workload(model, config, tmp_path, None)
    body = json.loads(workload.items[0].body)
    assert body["model"] == "lightonocr"
    assert body["max_tokens"] == 4096
    assert body["stream"] is True
    assert body["stream_options"] == {"include_usage": True}
    assert body["return_token_ids"] is True
    assert (body["temperature"], body["top_p"], body["top_k"], body["repetition_penalty"]) == (0, 1, 0, 1)
    assert [part["type"] for part in body["messages"][0]["content"]] == ["image_url"]
    assert json.loads(ocr_workload(model, config, tmp_path, 7).items[0].body)["max_tokens"] == 7
    with pytest.raises(InputError, match="found --max-tokens -1"):
        ocr_workload(model, config, tmp_path, -1)


def test_answers_fit_the_served_context() -> None:
    """max_tokens and the largest page (3025 image tokens + 12) must fit max-model-len, for both checkpoints."""
    model = catalog.find("lightonocr")
    served = model.read("serve")["max-model-len"]
    for revision in ("abc", "standin-0"):
        config = load_config(model, Settings({"LIGHTONOCR_REVISION": revision}))
        assert config["max_tokens"] + 3037 <= served


def test_stand_in_has_its_own_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIGHTONOCR_REVISION", raising=False)
    model = catalog.find("lightonocr")
    assert load_config(model, Settings({"LIGHTONOCR_REVISION": "standin-1"}))["max_tokens"] == 512
    assert load_config(model, Settings({}))["max_tokens"] == 4096
    assert "standin" not in load_config(model, Settings({}))


def parsed(**changes: Any) -> Namespace:
    plain = {"model": "m", "pages": "", "max_tokens": "", "seed": "0", "key_file": "", "reports": "r", "summary": ""}
    return Namespace(**plain | changes)


def test_options_are_checked_whatever_the_web_page_makes_of_them() -> None:
    options = Options.read(parsed(max_tokens="12", seed=3, pages="p"))
    assert (options.max_tokens, options.seed, options.pages, options.summary) == (12, 3, Path("p"), None)
    with pytest.raises(InputError, match=r"^found --seed x, need a whole number$"):
        Options.read(parsed(seed="x"))


@pytest.mark.parametrize("content", [None, "", "two words", "ключ"])
def test_bad_key_file_is_told_in_one_line(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match="found --key-file") as caught:
        Options.read(parsed(key_file=str(path))).key(Settings({}))
    assert "\n" not in str(caught.value)


def test_workers_are_refused() -> None:
    none = {"processes": None, "master": False, "worker": False}
    refuse_workers(Namespace(**none))
    for option, value in (("processes", 2), ("master", True), ("worker", True)):
        with pytest.raises(InputError, match="need one process"):
            refuse_workers(Namespace(**none | {option: value}))


def finished(records: list[Record]) -> dict[str, Any]:
    setup = {"locustfile": "ocr", "model": "m<1>", "url": "http://x", "finished": "now"}
    more = {"users": 2, "interrupted": False, "cold_ttft_ms": 12.5, "setup": setup}
    return summarise(records, Window(0.0, 10.0)) | more


def test_report_is_whole_and_can_be_read_back(tmp_path: Path) -> None:
    records = [record(float(i)) for i in range(9)] + [record(9.0, failure="HTTP 503: <x>", times=(), counts=())]
    options = Options.read(parsed(reports=str(tmp_path / "r"), summary=str(tmp_path / "s.json")))
    folder = save(options, "ocr", finished(records), records)
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "requests.jsonl", "summary.json"]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]  # no draft left behind
    assert json.loads((tmp_path / "s.json").read_text()) == json.loads((folder / "summary.json").read_text())
    lines = (folder / "requests.jsonl").read_text().splitlines()
    assert [json.loads(line)["t0"] for line in lines] == [float(i) for i in range(10)]
    second = save(options, "ocr", finished(records), records)
    assert second != folder


def test_page_stands_alone_and_escapes_what_it_shows() -> None:
    page = to_html(finished([record(0.0), record(1.0, page="<b>.pdf", failure="HTTP 503: <x>")]), [record(0.0)])
    assert "<b>.pdf" not in page
    assert "<x>" not in page
    assert "m&lt;1&gt;" in page
    assert "FAIL: a request failed" in page
    for outside in ("http:", "https:", "src=", "href=", "@import"):
        assert outside not in page.replace("http://x", "")


def test_chart_shows_tokens_by_the_second() -> None:
    values = tokens_per_second([record(5.0), record(6.95)])
    assert values == [10, 0, 10]  # 6.95 + 0.1 is the third second of the run
    assert "second 2: 10 tokens" in chart(values)
    assert "<svg" not in chart(tokens_per_second([]))


def test_table_names_failures_and_missing_figures() -> None:
    lines = render(finished([record(0.0), record(1.0, failure="HTTP 503: x", times=(), counts=())]), None)
    text = "\n".join(lines)
    assert "ocr: m<1> at http://x: FAIL: a request failed" in text
    assert "failed 1 x: HTTP 503: x" in text
    assert "n/a" in next(line for line in lines if "TTFT" in line)
    assert lines[-1].endswith("not written")


@pytest.mark.parametrize(
    ("value", "text"), [(None, "n/a"), (0.0, "0"), (1.23456, "1.235"), (999.96, "1000"), (12345.6, "12,346")]
)
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text
