"""smoke.report and smoke.result: verdict from evidence, and a page that holds everything and runs nothing."""

import json

import pytest
from smoke_parts import PAGES

from smoke import report
from smoke.result import EXIT_CODES, Result, judge, not_run, worst

GOOD = judge("a", True, saw=1, wanted=1, why="w")
BAD = judge("bb", False, saw="<script>alert(1)</script>", wanted="y", why="because")
UNSEEN = not_run("c", "found nothing")


def outcome(*evidence, read="# One\n\ntwo"):
    results = (Result("api", (GOOD,), 1.0), Result("ocr", evidence, 2.25))
    return report.Outcome(
        "m", "r1", None, "http://x", True, "2030-01-01T00:00:00+00:00", results, read, "reports/m.html"
    )


@pytest.mark.parametrize(
    ("verdicts", "expected", "code"),
    [
        (["pass", "pass"], "pass", 0),
        (["pass", "fail"], "fail", 1),
        (["pass", "could-not-run"], "could-not-run", 2),
        (["could-not-run", "fail"], "fail", 1),
        ([], "could-not-run", 2),  # nothing looked at is nothing proved
    ],
)
def test_the_worst_evidence_decides(verdicts, expected, code):
    assert worst(verdicts) == expected
    assert EXIT_CODES[expected] == code


def test_the_table_explains_failures_only():
    lines = report.table(outcome(BAD, UNSEEN).results).splitlines()
    assert lines[0] == "ok      api  a   1"
    assert lines[1] == "FAIL    ocr  bb  <script>alert(1)</script>"
    assert lines[2].strip() == "wanted: y (because)"
    assert lines[3] == "not run ocr  c   found nothing"
    assert len(lines) == 4


def test_the_end_of_the_output_shows_the_page_and_the_report():
    text = report.closing(outcome(GOOD))
    assert "m: pass, 2 of 2 good, 3.2 s" in text
    assert "    # One\n\n    two\n" in text
    assert text.endswith("Report: reports/m.html")


def test_a_page_that_could_not_be_read_is_said():
    assert "(the demo page could not be read)" in report.closing(outcome(UNSEEN, read=None))


def test_a_models_text_does_not_steer_the_terminal():
    assert report.printable("a\x1b[2Jb\r\n\tc\u00e9\u4f60") == "a\ufffd[2Jb\ufffd\n\ufffdc\u00e9\u4f60"


def test_the_json_document_has_the_promised_fields():
    document = json.loads(json.dumps(outcome(BAD).as_dict()))
    assert {"model", "target", "url", "verdict", "checks", "read", "report"} <= set(document)
    assert (document["verdict"], document["read"]) == ("fail", "# One\n\ntwo")
    assert document["checks"][1]["evidence"][0]["why"] == "because"


def test_the_html_page_escapes_and_loads_nothing():
    text = report.page(outcome(BAD, read="<b>&"), PAGES[0], "<truth>")
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert "&lt;b&gt;&amp;" in text and "&lt;truth&gt;" in text
    assert text.count("http") == 1  # the server's URL as text; no style sheet, no font, no script from elsewhere
    assert 'src="data:image/png;base64,' in text
