"""A fake server: answers as the gateway and the engine would, from a list of texts. It holds no model.

Only for tests of the checks' own judgement: each check must pass on this server, and fail when one answer is wrong.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

from PIL import Image

from smoke.client import Reply

END, START, IMAGE = 258, 257, 268
KEYS = {"key-user": "user", "key-operator": "operator"}

Fault = Callable[[str, dict[str, Any], Reply], Reply]


def no_fault(_path: str, _request: dict[str, Any], reply: Reply) -> Reply:
    return reply


class FakeServer:
    """`texts`: answer by SHA-256 of the image's bytes. `fault` may change any reply on its way out."""

    def __init__(self, texts: dict[str, str], image_tokens: int, fault: Fault = no_fault) -> None:
        self.texts, self.image_tokens, self.fault = texts, image_tokens, fault
        self.requests: list[tuple[str, str, str | None]] = []

    def send(self, method: str, path: str, key: str | None, body: bytes | None) -> Reply:
        self.requests.append((method, path, key))
        request = json.loads(body) if body else {}
        return self.fault(path, {**request, "key": key}, self._answer(path, key, request))

    def _answer(self, path: str, key: str | None, request: dict[str, Any]) -> Reply:
        if key not in KEYS:
            return error(401, "Missing or unknown API key")
        if path == "/v1/models":
            return as_json(200, {"object": "list", "data": [{"id": "lightonocr"}]})
        if request["model"] != "lightonocr":
            return error(404, "The model does not exist")
        if request.get("return_token_ids") and KEYS[key] != "operator":
            return error(403, "return_token_ids is not for this key")
        content = request["messages"][0]["content"]
        images = [part for part in content if part["type"] == "image_url"] if isinstance(content, list) else []
        if len(images) > 1:
            return error(400, "At most 1 image(s) may be provided in one prompt.")
        text = "Hello"
        if images:
            data = base64.b64decode(images[0]["image_url"]["url"].partition(",")[2])
            try:
                Image.open(io.BytesIO(data)).load()
            except OSError:
                return error(400, "cannot identify image file")
            text = self.texts[hashlib.sha256(data).hexdigest()]
        return self._complete(request, text, self.image_tokens if images else 0)

    def _complete(self, request: dict[str, Any], text: str, image_tokens: int) -> Reply:
        ids = [*text.encode(), END][: request["max_tokens"]]
        finish = "stop" if ids[-1] == END else "length"
        text = bytes(one for one in ids if one < 256).decode()
        prompt = prompt_ids(image_tokens)
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(ids), "total_tokens": len(prompt) + len(ids)}
        if request.get("stream"):
            chunks: list[Any] = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
            chunks += [{"choices": [{"delta": {"content": character}}]} for character in text]
            chunks += [{"choices": [], "usage": usage}] if request.get("stream_options") else []
            return as_events([*map(json.dumps, chunks), "[DONE]"])
        message = {"role": "assistant", "content": text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
        data: dict[str, Any] = {"choices": [choice], "usage": usage}
        if request.get("logprobs"):
            alternatives = [{"token": "x", "logprob": -1.0}] * request["top_logprobs"]
            choice["logprobs"] = {"content": [{"token": "x", "logprob": -0.5, "top_logprobs": alternatives}] * len(ids)}
        if request.get("return_token_ids"):
            choice["token_ids"], data["prompt_token_ids"] = ids, prompt
        return as_json(200, data)


def prompt_ids(image_tokens: int) -> list[int]:
    return [START, *b"user\n", *[IMAGE] * image_tokens, END, *b"\n"]


def as_json(status: int, data: Any) -> Reply:
    return Reply(status, "application/json", json.dumps(data).encode())


def as_events(events: list[str]) -> Reply:
    return Reply(200, "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode())


def error(status: int, message: str) -> Reply:
    return as_json(status, {"error": {"message": message, "type": "error", "param": None, "code": status}})
