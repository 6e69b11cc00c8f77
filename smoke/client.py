"""The one way to the server: a narrow seam to HTTP, and the OpenAI requests that the checks need on top of it.

Tests hand in another `Transport`; nothing else in this room knows HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import requests

from dock.errors import Unreachable

CONNECT_SECONDS = 5
READ_SECONDS = 600  # a full page on a slow CPU; a dead server is found by the connect timeout


@dataclass(frozen=True)
class Reply:
    """A complete HTTP answer."""

    status: int
    kind: str  # media type, e.g. application/json
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as a JSON object, or Unreachable."""
        try:
            data = json.loads(self.body)
        except ValueError:
            data = None
        if not isinstance(data, dict):
            start = self.body[:60].decode("utf-8", "replace").strip()
            raise Unreachable(
                f"found an answer that is no JSON object (status {self.status}, {self.kind}: {start!r}), "
                "need an OpenAI API, do: check the URL"
            )
        return data

    def error(self) -> dict[str, Any] | None:
        """The `error` object when it has OpenAI's shape (a non-empty message, and a type), else None."""
        try:
            error = self.json().get("error")
        except Unreachable:
            return None
        good = (
            isinstance(error, dict) and isinstance(error.get("message"), str) and error["message"] and "type" in error
        )
        return error if good else None

    def events(self) -> Iterator[str]:
        """The data of each server-sent event, in order, `[DONE]` included.

        Split at bytes `\\n` only: U+2028 and its like may stand raw inside JSON and end no line.
        """
        for line in self.body.split(b"\n"):
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")


class Transport(Protocol):
    """Sends one request and returns the whole answer, whatever its status. Raises Unreachable when there is none."""

    def send(self, method: str, path: str, key: str | None, body: bytes | None) -> Reply:
        """`path` starts with `/v1/`; `key` is a bearer key or None for a request without one."""
        ...


class HttpTransport:
    """Transport over HTTP, a connection for each request.

    vLLM closes the connection after some errors without announcing it; a kept-alive one would then fail the next
    request for a reason that is none of its own.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        # A ~/.netrc entry would replace our Authorization header, and a proxy must not see what goes to loopback.
        self._session.trust_env = False

    def send(self, method: str, path: str, key: str | None, body: bytes | None) -> Reply:
        """See Transport.send."""
        headers = {"Content-Type": "application/json", "Connection": "close"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        try:
            answer = self._session.request(
                method,
                self._url + path,
                data=body,
                headers=headers,
                timeout=(CONNECT_SECONDS, READ_SECONDS),
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise Unreachable(
                f"found no answer from {self._url} ({_cause(error)}), need a running server, "
                "do: docker compose up -d --wait lightonocr, or check the URL"
            ) from None
        kind = answer.headers.get("Content-Type", "").split(";")[0]
        return Reply(answer.status_code, kind, answer.content)


@dataclass(frozen=True)
class Reading:
    """What the model gave for one page: text, ids with the end token, and why it stopped."""

    text: str
    ids: tuple[int, ...]
    prompt_ids: tuple[int, ...]
    finish_reason: str
    usage: dict[str, int]


@dataclass(frozen=True)
class Server:
    """An OpenAI server seen with one key."""

    transport: Transport
    key: str

    def models(self) -> Reply:
        """GET /v1/models."""
        return self.transport.send("GET", "/v1/models", self.key, None)

    def chat(self, body: bytes) -> Reply:
        """POST /v1/chat/completions with a prepared body, whatever the answer's status."""
        return self.transport.send("POST", "/v1/chat/completions", self.key, body)

    def read(self, body: bytes) -> Reading:
        """The answer to `body`, which asks for `return_token_ids` and no stream; Unreachable for anything else."""
        reply = self.chat(body)
        if reply.status != 200:
            raise Unreachable(_refusal(reply))
        data = reply.json()
        try:
            choice = data["choices"][0]
            return Reading(
                text=str(choice["message"]["content"] or ""),
                ids=tuple(map(int, choice["token_ids"])),
                prompt_ids=tuple(map(int, data["prompt_token_ids"])),
                finish_reason=str(choice["finish_reason"]),
                usage=dict(data["usage"]),
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Unreachable(
                f"found a chat completion that cannot be used ({type(error).__name__}: {error}), need one with text, "
                "token ids (vLLM's return_token_ids) and usage, do: serve the model with the bundle's engine"
            ) from None


def check_key(server: Server, url: str) -> None:
    """Raise Unreachable, in one line, when the server is away or refuses the key."""
    reply = server.models()
    if reply.status in (401, 403):
        raise Unreachable(
            f"found the key refused ({reply.status}) by {url}, need one that its gateway knows, "
            "do: give --key-file state/keys/operator, or run ansible-playbook site.yml"
        )
    if reply.status != 200:
        raise Unreachable(_refusal(reply))
    reply.json()


def _refusal(reply: Reply) -> str:
    error = reply.error()
    said = " ".join(error["message"].split()) if error else reply.body[:80].decode("utf-8", "replace")
    remedy = {
        403: "need a key of scope operator, do: give --key-file state/keys/operator",
        404: "need a server of this model, do: check the model and the URL",
        503: "need a running engine, do: docker compose up -d --wait lightonocr",
    }.get(reply.status, "need status 200, do: docker compose logs")
    return f"found status {reply.status} ({said!r}), {remedy}"


def _cause(error: requests.RequestException) -> str:
    if isinstance(error, requests.ConnectTimeout):
        return f"no connection within {CONNECT_SECONDS} s"
    if isinstance(error, requests.Timeout):
        return f"silent for {READ_SECONDS} s"
    for words in ("refused", "reset", "closed", "resolve"):
        if words in str(error):
            return f"connection {words}" if words != "resolve" else "unknown host name"
    return type(error).__name__
