"""python -m smoke, on the fake server: exit codes, one JSON document, both reports, one line for what cannot run."""

import json

import pytest
from fake_openai import as_json, error
from smoke_parts import CORPUS, TEXTS, baseline, fake_server, write_checkpoint

from dock import settings
from dock.errors import SettingsError
from smoke import __main__ as cli
from smoke.store import Store

pytestmark = pytest.mark.usefixtures("installation")


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A repository root with .env and keys; the store and the pages are the tests' own."""
    for name in ("user", "operator"):
        (tmp_path / "keys").mkdir(exist_ok=True)
        (tmp_path / "keys" / name).write_text(f"key-{name}\n")
    write_checkpoint(tmp_path / "models" / "lightonocr" / "standin-1" / "ready")
    values = {
        "TARGET": "cpu",
        "DOCK_URL": "http://fake/",
        "KEYS_DIR": "./keys",
        "MODELS_DIR": "./models",
        "LIGHTONOCR_REVISION": "standin-1",
        "LIGHTONOCR_IMAGE": "image:1",
    }
    for name in values:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(settings, "ROOT", tmp_path)
    monkeypatch.setattr(settings, "load", lambda: settings.Settings(values, tmp_path))
    monkeypatch.setattr(cli, "load_corpus", lambda _model, _plan: CORPUS)
    monkeypatch.setattr(cli, "baseline_pages", lambda _plan, corpus, _path: corpus.pages)
    monkeypatch.setattr(Store, "baseline", lambda *_arguments: baseline())
    serve(monkeypatch, fake_server())
    return tmp_path


def serve(monkeypatch, server):
    monkeypatch.setattr(cli, "HttpTransport", lambda _url: server)


def test_all_good_is_exit_0_and_shows_the_page(capsys):
    assert cli.main(["lightonocr"]) == 0
    out, err = capsys.readouterr()
    assert "FAIL" not in out
    assert "lightonocr: pass, " in out
    assert "    # One" in out
    assert out.endswith("Report: reports/smoke-lightonocr.html\n")
    assert "check tokens" in err


def test_json_is_one_document_and_the_same_as_the_report(installation, capsys):
    assert cli.main(["lightonocr", "--json", "--quick"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["url"], document["target"]) == ("pass", "http://fake", "cpu")
    assert document["read"] == TEXTS[0]
    assert json.loads((installation / "reports" / "smoke-lightonocr.json").read_text()) == document
    assert (installation / document["report"]).read_text().startswith("<!doctype html>")


def test_one_wrong_answer_is_exit_1(monkeypatch, capsys):
    serve(monkeypatch, fake_server(texts=["nonsense", "nonsense"]))
    assert cli.main(["lightonocr"]) == 1
    assert "lightonocr: fail, " in capsys.readouterr().out


def test_with_json_a_failure_is_also_a_line_on_stderr(monkeypatch, capsys):
    """site.yml shows the last line of stderr."""
    serve(monkeypatch, fake_server(texts=["nonsense", "nonsense"]))
    assert cli.main(["lightonocr", "--only", "ocr", "--json"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("ocr, character error rate: saw ")


def test_only_runs_one_check(capsys):
    assert cli.main(["lightonocr", "--only", "determinism", "--json"]) == 0
    assert [one["check"] for one in json.loads(capsys.readouterr().out)["checks"]] == ["determinism"]


def test_a_check_that_cannot_run_is_exit_2_and_one_line(monkeypatch, capsys):
    def refuse(*_arguments):
        raise SettingsError("found no docker command, need it")

    monkeypatch.setattr(Store, "baseline", refuse)
    assert cli.main(["lightonocr"]) == 2
    out, err = capsys.readouterr()
    assert "not run tokens" in out
    assert err.splitlines()[-1] == "tokens: found no docker command, need it"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["no-such-model"], "found no model 'no-such-model', need one of: "),
        (["lightonocr", "--key-file", "/nonexistent"], "found no key in /nonexistent"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_2(capsys, arguments, expected):
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(expected)
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", ["", "two\nlines", "a b", "\u00e9"])
def test_a_key_file_that_is_none_is_one_line(capsys, tmp_path, content):
    (tmp_path / "key").write_text(content)
    assert cli.main(["lightonocr", "--key-file", str(tmp_path / "key")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_persons_wrong_key_is_exit_2_and_no_report(capsys, tmp_path):
    (tmp_path / "key").write_text("unknown\n")
    assert cli.main(["lightonocr", "--key-file", str(tmp_path / "key")]) == 2
    assert capsys.readouterr().err == (
        "found the key refused (401) by http://fake, need one that its gateway knows, "
        "do: give --key-file state/keys/operator, or run ansible-playbook site.yml\n"
    )
    assert not (tmp_path / "reports").exists()


def test_a_stopped_engine_behind_the_gateway_is_exit_2(monkeypatch, capsys):
    """The gateway lists its models by itself; chat is answered with 503."""
    down = fake_server(lambda path, _q, reply: reply if path == "/v1/models" else error(503, "no engine is up"))
    serve(monkeypatch, down)
    assert cli.main(["lightonocr", "--only", "determinism"]) == 2
    out, err = capsys.readouterr()
    assert "(the demo page could not be read)" in out
    assert "found status 503 ('no engine is up'), need a running engine, do: docker compose up" in err


def test_a_page_of_html_is_exit_2(monkeypatch, capsys):
    serve(monkeypatch, fake_server(lambda *_a: as_json(200, "It works")))
    assert cli.main(["lightonocr"]) == 2
    assert "need an OpenAI API" in capsys.readouterr().err
