"""`api`: the contract that an OpenAI client relies on, refusals included.

Each function looks at one thing and gives its evidence. Requests go with the user key, as a client's would; only the
one that needs token ids takes the operator key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from dock.errors import DockError
from smoke import answers
from smoke.client import Reply, Server
from smoke.result import Evidence, Result, judge, not_run
from smoke.run import DEMO_PAGE, Run

SHORT = 16  # tokens: enough to see an answer; reading well is another check's matter
SHAPE = "OpenAI's error object"


def check(run: Run) -> Result:
    """All probes; one answer (the demo page, unstreamed) is shared by those that compare with it."""
    answer = run.user.chat(run.body(DEMO_PAGE, max_tokens=SHORT))
    evidence = [_image_chat(answer), *_streaming(run, answer)]
    for name, probe in PROBES.items():
        try:
            evidence.append(probe(run, answer))
        except DockError as error:
            evidence.append(not_run(name, error))
    return Result("api", tuple(evidence))


def _models(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.models()
    rows = reply.json().get("data") if reply.status == 200 else None
    names = [row.get("id") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return judge(
        "models list",
        run.model in names,
        saw=f"status {reply.status}, {names}",
        wanted=f"200 and {run.model!r} among the ids",
        why="clients choose the model from this list",
    )


def _image_chat(answer: Reply) -> Evidence:
    return judge(
        "image chat",
        answer.status == 200 and isinstance(answers.content(answer), str),
        saw=answers.summary(answer),
        wanted="200 and a message",
        why="a page is sent as one image without text",
    )


def _streaming(run: Run, answer: Reply) -> list[Evidence]:
    """Events, [DONE] and usage of the same request streamed; its text and counts are the unstreamed answer's."""
    reply = run.user.chat(run.body(DEMO_PAGE, max_tokens=SHORT, stream=True, stream_options={"include_usage": True}))
    events = list(reply.events())
    chunks = [chunk for chunk in map(answers.parse, events[:-1]) if chunk is not None]
    last = events[-1][:20] if events else None
    text = "".join(answers.delta(chunk) for chunk in chunks)
    usage = next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None)
    whole = reply.status == 200 and len(chunks) == len(events) - 1 >= 2
    return [
        judge(
            "streaming",
            whole and reply.kind == "text/event-stream" and events[-1] == "[DONE]",
            saw=f"status {reply.status}, {reply.kind}, {len(events)} events, last {last!r}",
            wanted="200, text/event-stream, JSON events, then [DONE]",
            why="clients show text as it comes and stop at [DONE]",
        ),
        judge(
            "streamed text",
            whole and text == answers.content(answer),
            saw=f"{len(text)} characters, {'equal' if text == answers.content(answer) else 'different'}",
            wanted="the text of the same request without streaming",
            why="both ways are one greedy answer",
        ),
        judge(
            "streamed usage",
            usage is not None and answers.counts(usage) == answers.counts(answers.usage(answer)),
            saw=answers.counts(usage),
            wanted=answers.counts(answers.usage(answer)),
            why="tokens are counted by the server, because one event is not one token",
        ),
    ]


def _usage_counts(run: Run, answer: Reply) -> Evidence:
    reading = run.operator.read(run.body(DEMO_PAGE, max_tokens=SHORT, return_token_ids=True))
    ids = [len(reading.prompt_ids), len(reading.ids), len(reading.prompt_ids) + len(reading.ids)]
    return judge(
        "usage counts",
        answers.counts(answers.usage(answer)) == answers.counts(reading.usage) == ids,
        saw=f"{answers.counts(answers.usage(answer))}, with ids asked for {answers.counts(reading.usage)}",
        wanted=f"{ids} (prompt, completion, total), the number of ids",
        why="bills and load figures rest on them",
    )


def _image_tokens(run: Run, _answer: Reply) -> Evidence:
    page, checkpoint, limit = run.corpus.pages[DEMO_PAGE], run.checkpoint(), run.plan["limits"]["frame_tokens"]
    ids = run.operator.read(run.body(DEMO_PAGE, max_tokens=1, return_token_ids=True)).prompt_ids
    wanted, saw = checkpoint.image_tokens(page.width, page.height), ids.count(checkpoint.image_token_id())
    return judge(
        "image tokens",
        saw == wanted and 0 < len(ids) - saw <= limit,
        saw=f"{saw} image tokens and {len(ids) - saw} others",
        wanted=f"{wanted} for {page.width}x{page.height} px and at most {limit} others",
        why="another grid, or tokens put between the rows, changes what the model sees",
    )


def _text_chat(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.chat(_request(run, [{"type": "text", "text": "Hello"}]))
    return judge(
        "text-only chat",
        reply.status == 200 and isinstance(answers.content(reply), str),
        saw=answers.summary(reply),
        wanted="200 and a message",
        why="clients probe a server with a line of text",
    )


def _still_there(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.chat(run.body(DEMO_PAGE, max_tokens=SHORT))
    return judge(
        "after the refusals",
        reply.status == 200 and isinstance(answers.content(reply), str),
        saw=answers.summary(reply),
        wanted="200 and a message to the same page as before",
        why="a bad request must not harm the next one",
    )


def _logprobs(run: Run, _answer: Reply) -> Evidence:
    """One entry for each token, each with the alternatives asked for."""
    reply = run.user.chat(run.body(DEMO_PAGE, max_tokens=SHORT, logprobs=True, top_logprobs=2))
    try:
        entries = reply.json()["choices"][0]["logprobs"]["content"]
        counts = [len(entry["top_logprobs"]) for entry in entries]
        good = len(counts) == reply.json()["usage"]["completion_tokens"] > 0 and min(counts) >= 2
    except (DockError, KeyError, IndexError, TypeError):
        counts, good = [], False
    return judge(
        "logprobs",
        reply.status == 200 and good,
        saw=f"{len(counts)} entries" if counts else answers.summary(reply),
        wanted="200, and for each token its logprob with 2 alternatives",
        why="an engine that must compile something for them may lack the compiler",
    )


def _two_images(run: Run, _answer: Reply) -> Evidence:
    part = _image(run.corpus.pages[DEMO_PAGE].data)
    return _refused(
        "two images", run.user.chat(_request(run, [part, part])), {400}, "one page a request is the limit set"
    )


def _no_key(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.transport.send("GET", "/v1/models", None, None)
    return _refused("no key", reply, {401}, "nobody gets in without a key")


def _wrong_key(run: Run, _answer: Reply) -> Evidence:
    stranger = Server(run.user.transport, "wrong-" + "0" * 32)
    return _refused("wrong key", stranger.chat(_request(run, "Hello")), {401}, "a guessed key is no key")


def _unknown_model(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.chat(_request(run, "Hello", model="no-such-model"))
    return _refused("unknown model", reply, {404}, "a mistyped name must not reach another model")


def _truncated_image(run: Run, _answer: Reply) -> Evidence:
    data = run.corpus.pages[DEMO_PAGE].data
    reply = run.user.chat(_request(run, [_image(data[: len(data) // 2])]))
    return _refused("truncated image", reply, CLIENT_ERRORS, "the fault is the client's, and its message says so")


def _no_image(run: Run, _answer: Reply) -> Evidence:
    reply = run.user.chat(_request(run, [_image(b"this is no image")]))
    return _refused("not an image", reply, CLIENT_ERRORS, "the fault is the client's, and its message says so")


CLIENT_ERRORS = {400, 413, 415, 422}

PROBES: dict[str, Callable[[Run, Reply], Evidence]] = {
    "models list": _models,
    "usage counts": _usage_counts,
    "image tokens": _image_tokens,
    "text-only chat": _text_chat,
    "logprobs": _logprobs,
    "two images": _two_images,
    "no key": _no_key,
    "wrong key": _wrong_key,
    "unknown model": _unknown_model,
    "truncated image": _truncated_image,
    "not an image": _no_image,
    "after the refusals": _still_there,  # last, as its name says
}


def _refused(name: str, reply: Reply, wanted: set[int], why: str) -> Evidence:
    error = reply.error()
    numbers = " or ".join(str(status) for status in sorted(wanted))
    return judge(
        name,
        reply.status in wanted and error is not None,
        saw=answers.summary(reply),
        wanted=f"{numbers} with {SHAPE}",
        why=why,
    )


def _request(run: Run, content: Any, **fields: Any) -> bytes:
    body = {"model": run.model, "messages": [{"role": "user", "content": content}], "max_tokens": SHORT}
    return json.dumps({**body, **run.plan["sampling"], **fields}).encode("ascii")


def _image(data: bytes) -> dict[str, Any]:
    return {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + base64.b64encode(data).decode("ascii")},
    }
