"""The gateway with the real engine behind it: what goes through, what is refused, and how."""

from __future__ import annotations

import http.client
import json
import statistics
from typing import Any

import pytest
import requests

from dock.settings import Settings

CHAT = {"model": "lightonocr", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, "temperature": 0}
LIMIT = 12 * 1024 * 1024


def post(stack: Settings, path: str, body: dict[str, Any] | bytes, key: str = "user") -> requests.Response:
    """One POST through the gateway with the key of that name."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return requests.post(
        stack.url + path,
        data=data,
        headers={"Authorization": f"Bearer {stack.key(key)}", "Content-Type": "application/json"},
        timeout=120,
    )


def assert_error(answer: requests.Response, status: int, code: str) -> None:
    """OpenAI's error shape, with our code."""
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"].startswith("application/json")
    error = answer.json()["error"]
    assert error["code"] == code
    assert set(error) == {"message", "type", "param", "code"}


def test_models_lists_what_is_healthy(stack: Settings) -> None:
    """The list is made of the engines that answer."""
    answer = requests.get(
        stack.url + "/v1/models", headers={"Authorization": f"Bearer {stack.key('user')}"}, timeout=10
    )
    assert [model["id"] for model in answer.json()["data"]] == ["lightonocr"]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/lightonocr/v1/chat/completions"])
def test_routes_by_body_and_by_path(stack: Settings, path: str) -> None:
    """Both ways reach the engine, which answers with the request id that the gateway gave."""
    answer = post(stack, path, CHAT)
    assert answer.status_code == 200, answer.text
    assert answer.json()["model"] == "lightonocr"
    assert answer.headers["X-Request-Id"]


def test_model_may_stand_behind_a_page(stack: Settings) -> None:
    """JSON has no key order: the name may come after megabytes of image."""
    body = json.dumps(
        {"messages": [{"role": "user", "content": "a" * 100_000}], "max_tokens": 1, "model": "lightonocr"}
    )
    # Too long for the context, so it is the engine that refuses: the request was routed.
    answer = post(stack, "/v1/chat/completions", body.encode())
    assert answer.status_code == 400
    assert "context" in answer.text


@pytest.mark.parametrize(
    ("authorization", "status"),
    [(None, 401), ("Bearer wrong", 401), ("Bearer ", 401), ("Basic dXNlcjp4", 401)],
)
def test_no_key_no_answer(stack: Settings, authorization: str | None, status: int) -> None:
    """Whatever is not a known bearer is refused, for every path but the gateway's own health."""
    headers = {"Authorization": authorization} if authorization else {}
    for path in ("/v1/models", "/metrics", "/"):
        answer = requests.get(stack.url + path, headers=headers, timeout=10)
        assert_error(answer, status, "invalid_api_key")
    assert requests.get(stack.url + "/health", timeout=10).text == "ok"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/metrics",
        "/invocations",
        "/tokenize",
        "/v1/responses",
        "/v1/embeddings",
        "/docs",
        "/v1/models/x",
        "/health/x",
    ],
)
def test_what_is_not_on_the_list_does_not_exist(stack: Settings, path: str) -> None:
    """vLLM has many more paths, some without any key check; none of them is reachable."""
    assert_error(post(stack, path, CHAT, "operator"), 404, "not_found")


def test_a_crafted_host_does_not_get_past_the_key(stack: Settings) -> None:
    """CVE-2026-48746 acts on the engine's own key check through the Host header."""
    for host in ("x/v1", "localhost:8000/health?", "engine"):
        answer = requests.post(stack.url + "/v1/chat/completions", json=CHAT, headers={"Host": host}, timeout=10)
        assert answer.status_code in {400, 401}, host


@pytest.mark.parametrize(
    ("model", "code"), [("gpt-4", "model_not_found"), ("", "model_not_found"), (None, "model_not_found")]
)
def test_unknown_model_names_those_there_are(stack: Settings, model: str | None, code: str) -> None:
    """404, with the list."""
    body = {key: value for key, value in (CHAT | {"model": model}).items() if value is not None}
    answer = post(stack, "/v1/chat/completions", body)
    assert_error(answer, 404, code)
    assert "lightonocr" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "user", "operator"),
    [
        ({"logprobs": True, "top_logprobs": 5}, 200, 200),
        ({"logprobs": True, "top_logprobs": 20}, 403, 200),
        ({"prompt_logprobs": 1}, 403, 200),
        ({"return_token_ids": True}, 403, 200),
        ({"return_tokens_as_token_ids": True}, 403, 200),
        ({"n": 2}, 200, 200),
        ({"n": 5}, 400, 400),
        ({"chat_template": "{{ 1 }}"}, 400, 400),
        ({"mm_processor_kwargs": {"code_revision": "x"}}, 400, 400),
        ({"kv_transfer_params": {}}, 400, 400),
    ],
)
def test_fields_by_scope(stack: Settings, fields: dict[str, Any], user: int, operator: int) -> None:
    """What a user may send, what only verification may, and what nobody may."""
    # n > 1 needs sampling; everything else is greedy.
    body = CHAT | fields | ({"temperature": 1} if "n" in fields else {})
    assert post(stack, "/v1/chat/completions", body, "user").status_code == user
    assert post(stack, "/v1/chat/completions", body, "operator").status_code == operator


@pytest.mark.parametrize(("size", "passes"), [(LIMIT - 64 * 1024, True), (LIMIT, True), (LIMIT + 1, False)])
def test_body_limit(stack: Settings, size: int, passes: bool) -> None:
    """12 MiB arrive at the engine (which finds them too long); one byte more does not."""
    frame = len(json.dumps(CHAT | {"user": ""}).encode())
    body = json.dumps(CHAT | {"user": "a" * (size - frame)}).encode()
    assert len(body) == size
    answer = post(stack, "/v1/chat/completions", body)
    if passes:
        assert answer.status_code == 200, answer.text
    else:
        assert_error(answer, 413, "body_too_large")


def test_broken_json_is_refused_as_json(stack: Settings) -> None:
    """The name is found where it stands, and the engine says what is wrong with the rest."""
    answer = post(stack, "/v1/chat/completions", b'{"model": "lightonocr"')
    assert answer.status_code == 400
    assert "JSON decode error" in answer.json()["error"]["message"]


def test_text_about_a_refused_field_passes(stack: Settings) -> None:
    """Only a field is refused, not a message that quotes one."""
    body = CHAT | {"messages": [{"role": "user", "content": 'what is "chat_template": "x" and "prompt_logprobs": 1?'}]}
    assert post(stack, "/v1/chat/completions", body).status_code == 200


def test_events_pass_one_by_one(stack: Settings) -> None:
    """Tokens are not bunched on the way: without http-no-delay about ten arrived together every 0.2 s."""
    connection = http.client.HTTPConnection(stack.url.removeprefix("http://"), timeout=60)
    body = CHAT | {"max_tokens": 64, "ignore_eos": True, "stream": True}
    headers = {"Authorization": f"Bearer {stack.key('user')}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
    answer = connection.getresponse()
    assert answer.status == 200
    pieces = []
    while piece := answer.read1(65536):
        pieces.append(piece.count(b"data: "))
    assert sum(pieces) > 32
    assert statistics.median(pieces) <= 2
