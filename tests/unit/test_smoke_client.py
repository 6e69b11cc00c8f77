"""smoke.client: every way not to answer becomes one line, and events are split at line ends only."""

import json

import pytest
import requests
from fake_openai import as_json, error
from smoke_parts import fake_server

from dock.errors import Unreachable
from smoke.client import HttpTransport, Reply, Server, check_key


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (requests.ConnectionError("[Errno 111] Connection refused"), "connection refused"),
        (requests.ConnectTimeout(), "no connection within 5 s"),
        (requests.ReadTimeout(), "silent for 600 s"),
        (requests.exceptions.InvalidURL(), "InvalidURL"),
        (requests.exceptions.ChunkedEncodingError(), "ChunkedEncodingError"),
    ],
)
def test_no_answer_is_one_line(monkeypatch, raised, expected):
    def refuse(*_arguments, **_options):
        raise raised

    monkeypatch.setattr(requests.Session, "request", refuse)
    with pytest.raises(Unreachable) as caught:
        HttpTransport("http://127.0.0.1:9").send("GET", "/v1/models", "k", None)
    assert str(caught.value) == (
        f"found no answer from http://127.0.0.1:9 ({expected}), need a running server, "
        "do: docker compose up -d --wait lightonocr, or check the URL"
    )


def test_proxies_and_netrc_are_not_asked():
    """A ~/.netrc entry for the host would replace the Authorization header."""
    assert HttpTransport("http://127.0.0.1:9")._session.trust_env is False


class Always:
    def __init__(self, reply):
        self.reply = reply

    def send(self, *_arguments):
        return self.reply


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error(401, "no"), r"found the key refused \(401\) by http://x, need one that its gateway knows"),
        (error(403, "no"), r"found the key refused \(403\)"),
        (error(503, "no engine"), r"found status 503 \('no engine'\), need a running engine, do: docker compose up"),
        (
            Reply(200, "text/html", b"<h1>It works</h1>"),
            r"no JSON object \(status 200, text/html: '<h1>It works</h1>'\)",
        ),
        (Reply(404, "text/html", b"<h1>nginx"), "found status 404"),
    ],
)
def test_check_key_refuses_in_one_line(reply, expected):
    with pytest.raises(Unreachable, match=expected) as caught:
        check_key(Server(Always(reply), "k"), "http://x")
    assert "\n" not in str(caught.value)


def test_check_key_takes_a_good_server():
    check_key(Server(fake_server(), "key-user"), "http://x")


GOOD = {
    "choices": [{"message": {"content": None}, "token_ids": [1], "finish_reason": "stop"}],
    "prompt_token_ids": [2],
    "usage": {},
}


def test_read_gives_text_and_ids():
    reading = Server(Always(as_json(200, GOOD)), "k").read(b"{}")
    assert (reading.text, reading.ids, reading.prompt_ids, reading.finish_reason) == ("", (1,), (2,), "stop")


@pytest.mark.parametrize("missing", ["choices", "prompt_token_ids", "usage"])
def test_read_of_an_answer_without_its_parts_is_refused(missing):
    data = {key: value for key, value in GOOD.items() if key != missing}
    with pytest.raises(Unreachable, match="found a chat completion that cannot be used"):
        Server(Always(as_json(200, data)), "k").read(b"{}")


def test_read_with_the_user_key_names_the_scope_it_needs():
    body = json.dumps({"model": "lightonocr", "return_token_ids": True, "messages": [{"content": "x"}]}).encode()
    with pytest.raises(Unreachable, match=r"found status 403 .* need a key of scope operator"):
        Server(fake_server(), "key-user").read(body)


def test_events_are_split_at_line_ends_only():
    """U+2028 and U+0085 may stand raw in JSON and end no line; a carriage return is dropped."""
    body = 'data: {"a": "\u2028\u0085"}\r\n\r\n: comment\n\ndata: [DONE]\n\n'.encode()
    assert list(Reply(200, "text/event-stream", body).events()) == ['{"a": "\u2028\u0085"}', "[DONE]"]
