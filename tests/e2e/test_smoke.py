"""`python -m smoke` against the running stack: its verdicts, its three outputs, and that it says no when it should."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("stack")


def smoke(*arguments, **environment):
    """Exit code, stdout and stderr of one run from the repository root."""
    command = [sys.executable, "-m", "smoke", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=900
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def full():
    """One full run; it also computes the baseline if there is none yet."""
    return smoke("lightonocr", "--json")


def test_the_stack_passes_every_check(full):
    code, out, err = full
    document = json.loads(out)  # exactly one JSON document on stdout
    assert {one["check"]: one["verdict"] for one in document["checks"]} == {
        "api": "pass",
        "determinism": "pass",
        "ocr": "pass",
        "tokens": "pass",
    }, err
    assert (code, document["verdict"], document["model"]) == (0, "pass", "lightonocr")


def test_the_report_lies_where_the_output_says(full):
    document = json.loads(full[1])
    page = (ROOT / document["report"]).read_text(encoding="utf-8")
    assert document["read"].splitlines()[0].lstrip("# ") in page
    assert page.startswith("<!doctype html>")
    assert json.loads((ROOT / document["report"]).with_suffix(".json").read_text(encoding="utf-8")) == document


def test_quick_shows_what_was_read(full):
    """The demo's form: the text of the page and the place of the report; the baseline at hand is not computed again."""
    code, out, err = smoke("lightonocr", "--quick")
    assert code == 0, out + err
    assert "float32 page" not in err
    first = json.loads(full[1])["read"].splitlines()[0]
    assert "What the model read from the demo page:" in out
    assert f"    {first}" in out
    assert out.rstrip().endswith("Report: reports/smoke-lightonocr.html")


@pytest.fixture
def tampered_baseline(stack):
    """Every stored baseline with the fifth id of page 1 replaced; put back afterwards."""
    folder = stack.models_dir / "lightonocr" / stack.revision("lightonocr") / "baseline"
    before = {path: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    for path, text in before.items():
        data = json.loads(text)
        data["pages"][0]["ids"][4] = 0
        path.write_text(json.dumps(data), encoding="utf-8")
    yield
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("full", "tampered_baseline")
def test_one_wrong_id_in_the_baseline_fails_the_run():
    code, out, _err = smoke("lightonocr", "--quick", "--only", "tokens", "--json")
    evidence = {one["name"]: one for one in json.loads(out)["checks"][0]["evidence"]}
    assert code == 1
    assert evidence["path of standin.pdf#1"]["verdict"] == "fail"
    assert evidence["path of standin.pdf#1"]["saw"].startswith("4 of ")


def test_a_server_that_reads_another_page_fails_the_run():
    """The truths of two pages swapped: the same answers are now wrong ones."""
    code = (
        "import sys, smoke.run as run, smoke.__main__ as main\n"
        "right = run.load_corpus\n"
        "def swapped(*arguments):\n"
        "    corpus = right(*arguments)\n"
        "    return run.Corpus(corpus.pages, corpus.truths[::-1])\n"
        "main.load_corpus = swapped\n"
        "sys.exit(main.main(['lightonocr', '--only', 'ocr', '--json']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["checks"][0]["evidence"][0]["verdict"] == "fail"


@pytest.mark.parametrize(
    ("arguments", "environment", "expected"),
    [
        (["no-such-model"], {}, "found no model 'no-such-model', need one of: "),
        (
            ["lightonocr", "--url", "http://127.0.0.1:9"],
            {},
            "found no answer from http://127.0.0.1:9 (connection refused)",
        ),
        (["lightonocr"], {"KEYS_DIR": "/nonexistent"}, "found no key /nonexistent/user"),
        (["lightonocr", "--key-file", "/nonexistent"], {}, "found no key in /nonexistent"),
    ],
)
def test_what_cannot_run_is_one_line_and_exit_2(arguments, environment, expected):
    code, out, err = smoke(*arguments, **environment)
    assert (code, out) == (2, "")
    assert err.startswith(expected)
    assert err.count("\n") == 1


def test_a_wrong_key_is_one_line_and_exit_2(tmp_path):
    """The person's own wrong key, not to be confused with the api check's probes."""
    (tmp_path / "key").write_text("not-a-key\n")
    code, out, err = smoke("lightonocr", "--key-file", tmp_path / "key")
    assert (code, out) == (2, "")
    assert err.startswith("found the key refused (401) by ")
    assert err.count("\n") == 1


def test_the_user_key_alone_cannot_see_token_ids(stack):
    """Refused by the gateway: checks that need ids could not run, which is not a pass."""
    key = stack.root / stack.get("KEYS_DIR") / "user"
    code, out, err = smoke("lightonocr", "--quick", "--json", "--key-file", key)
    assert code == 2
    assert "need a key of scope operator" in err
    assert json.loads(out)["verdict"] == "could-not-run"
