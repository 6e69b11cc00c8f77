"""Each check passes on a right server, and one wrong answer is enough for it to fail."""

import dataclasses
import json

import pytest
from fake_openai import as_events, as_json, error
from smoke_parts import PAGES, TEXTS, baseline, fake_server, make_run, page_baseline, write_checkpoint

from dock.errors import SettingsError, Unreachable
from smoke.checks import api, determinism, ocr, tokens
from smoke.client import Reply
from smoke.run import run_checks
from smoke.store import BaselineRefusedError

CHECKS = {"api": api.check, "determinism": determinism.check, "ocr": ocr.check, "tokens": tokens.check}


@pytest.fixture
def checkpoint(tmp_path):
    return write_checkpoint(tmp_path / "ready")


def bad(result):
    return {item.name: item.verdict for item in result.evidence if item.verdict != "pass"}


@pytest.mark.parametrize("quick", [True, False])
def test_a_right_server_passes_everything(checkpoint, quick):
    results = run_checks(make_run(fake_server(), checkpoint, quick=quick), CHECKS)
    assert {result.check: bad(result) for result in results} == {name: {} for name in CHECKS}


def is_image(request):
    return "image_url" in json.dumps(request.get("messages", ""))


def edit(change):
    """A fault that changes the JSON of every unstreamed 200 answer to a page."""

    def fault(_path, request, reply):
        if reply.status != 200 or request.get("stream") or not is_image(request):
            return reply
        data = json.loads(reply.body)
        change(data)
        return as_json(200, data)

    return fault


def when(condition, answer):
    """A fault that replaces the reply where `condition(path, request, reply)` holds."""
    return lambda path, request, reply: answer(reply) if condition(path, request, reply) else reply


def streamed(change):
    """A fault that changes the list of a stream's events."""

    def answer(reply):
        return as_events(change(list(reply.events())))

    return when(lambda _path, request, _reply: request.get("stream"), answer)


def status(number):
    return when(lambda _path, _request, reply: reply.status == number, lambda _reply: as_json(200, {"choices": []}))


def plus_one_prompt_token(data):
    data["usage"]["prompt_tokens"] += 1


API_FAULTS = {
    "models list": when(lambda path, *_: path == "/v1/models", lambda _r: as_json(200, {"data": [{"id": "x"}]})),
    "image chat": when(
        lambda _p, request, reply: is_image(request) and reply.status == 200 and not request.get("return_token_ids"),
        lambda _reply: error(500, "boom"),
    ),
    "streaming": streamed(lambda events: events[:-1]),
    "streamed text": streamed(lambda events: [event.replace('"#"', '"@"') for event in events]),
    "streamed usage": streamed(lambda events: [*events[:-2], events[-1]]),
    "usage counts": edit(plus_one_prompt_token),
    "text-only chat": when(
        lambda _p, request, _r: "messages" in request and not is_image(request), lambda _reply: error(400, "no text")
    ),
    "logprobs": edit(lambda data: data["choices"][0].get("logprobs", {"content": [0]})["content"].pop()),
    "two images": status(400),
    "no key": when(lambda _p, request, _r: request["key"] is None, lambda _reply: as_json(200, {"data": []})),
    "wrong key": when(
        lambda _p, request, _r: str(request["key"]).startswith("wrong"), lambda _reply: as_json(200, {"choices": []})
    ),
    "unknown model": status(404),
    "truncated image": when(lambda _p, _q, reply: b"cannot identify" in reply.body, lambda _r: error(500, "oops")),
    "not an image": when(lambda _p, _q, reply: b"cannot identify" in reply.body, lambda _r: error(500, "oops")),
    "image tokens": edit(lambda data: data.get("prompt_token_ids", []).append(268)),
}


@pytest.mark.parametrize("name", API_FAULTS)
def test_api_catches_one_wrong_answer(checkpoint, name):
    result = api.check(make_run(fake_server(API_FAULTS[name]), checkpoint))
    assert result.verdict == "fail"
    assert bad(result)[name] == "fail"


def test_api_catches_a_server_that_falls_over_a_bad_image(checkpoint):
    broken = []

    def fault(_path, request, reply):
        broken.extend([1] * (b"cannot identify" in reply.body))
        return error(500, "engine dead") if broken and reply.status == 200 and is_image(request) else reply

    assert bad(api.check(make_run(fake_server(fault), checkpoint))) == {"after the refusals": "fail"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(401, "text/html", b"<h1>401</h1>"),
        as_json(401, {"detail": "no"}),
        as_json(401, {"error": "no"}),
        as_json(401, {"error": {"message": "", "type": "x"}}),
        as_json(401, {"error": {"message": "no"}}),
        as_json(401, ["no"]),
    ],
)
def test_api_wants_openai_errors_and_not_just_a_status(checkpoint, reply):
    server = fake_server(when(lambda _p, _q, answer: answer.status == 401, lambda _reply: reply))
    assert bad(api.check(make_run(server, checkpoint)))["no key"] == "fail"


def test_api_without_the_checkpoint_says_what_it_could_not_see(checkpoint):
    def absent():
        raise SettingsError("found no MODELS_DIR, need it")

    run = dataclasses.replace(make_run(fake_server(), checkpoint), checkpoint=absent)
    result = api.check(run)
    assert bad(result) == {"image tokens": "could-not-run"}
    assert result.verdict == "could-not-run"


def test_determinism_catches_one_different_id(checkpoint):
    answers = iter([0, 0, 1])

    def change(data):
        data["choices"][0]["token_ids"][5] += next(answers)

    result = determinism.check(make_run(fake_server(edit(change)), checkpoint))
    assert result.verdict == "fail"
    assert result.evidence[0].saw == "run 3 departs from run 1 at position 5"


def test_determinism_of_nothing_proves_nothing(checkpoint):
    result = determinism.check(make_run(fake_server(edit(lambda d: d["choices"][0]["token_ids"].clear())), checkpoint))
    assert result.verdict == "fail"


OCR_FAULTS = {
    "character error rate": [TEXTS[0].replace("page", "p").replace("more", "xxxx"), TEXTS[1]],
    "text on every page": [TEXTS[0], "--"],
    "no page cut short": ["word " * 300, TEXTS[1]],
    "no loop at the end": [TEXTS[0] + "ab" * 40, TEXTS[1]],
}


@pytest.mark.parametrize("name", OCR_FAULTS)
def test_ocr_catches_a_misread_page(checkpoint, name):
    result = ocr.check(make_run(fake_server(texts=OCR_FAULTS[name]), checkpoint))
    assert bad(result)[name] == "fail"


def test_ocr_quick_reads_the_demo_page_only(checkpoint):
    server = fake_server(texts=[TEXTS[0], "nonsense"])
    assert ocr.check(make_run(server, checkpoint, quick=True)).verdict == "pass"
    assert ocr.check(make_run(server, checkpoint)).verdict == "fail"


def test_tokens_catches_a_different_prompt_before_it_compares(checkpoint):
    server = fake_server(edit(lambda data: data["prompt_token_ids"].insert(3, 267)))
    result = tokens.check(make_run(server, checkpoint, quick=True))
    assert bad(result) == {"prompt ids of pages.pdf#1": "fail"}
    assert result.evidence[-1].saw == "15 ids, id 267 in place of 101 at position 3"


def test_tokens_catches_a_wrong_id_at_a_clear_margin(checkpoint):
    server = fake_server(edit(lambda data: data["choices"][0]["token_ids"].__setitem__(4, 7)))
    result = tokens.check(make_run(server, checkpoint, quick=True))
    assert bad(result) == {"path of pages.pdf#1": "fail"}
    assert "4 of 42 ids equal, then 7 in place of" in result.evidence[-1].saw


def test_tokens_allows_the_second_choice_below_the_floor(checkpoint):
    """The floor is 0.25: a margin of 0.2 at the departure is a near-tie."""
    server = fake_server(edit(lambda data: data["choices"][0]["token_ids"].__setitem__(4, 7)))
    near = baseline([page_baseline(PAGES[0], TEXTS[0], margin=0.2), page_baseline(PAGES[1], TEXTS[1])])
    assert tokens.check(make_run(server, checkpoint, quick=True, stored=near)).verdict == "pass"


def test_tokens_refuses_another_id_even_below_the_floor(checkpoint):
    server = fake_server(edit(lambda data: data["choices"][0]["token_ids"].__setitem__(4, 8)))
    near = baseline([page_baseline(PAGES[0], TEXTS[0], margin=0.2), page_baseline(PAGES[1], TEXTS[1])])
    assert tokens.check(make_run(server, checkpoint, quick=True, stored=near)).verdict == "fail"


def test_tokens_catches_a_baseline_of_another_class(checkpoint):
    other = dataclasses.replace(baseline(), kind="LlavaForConditionalGeneration")
    assert bad(tokens.check(make_run(fake_server(), checkpoint, stored=other))) == {"baseline": "fail"}


def test_tokens_fails_when_the_checkpoint_does_not_fit_its_class(checkpoint):
    def refused():
        raise BaselineRefusedError("found 33 tensors missing")

    run = dataclasses.replace(make_run(fake_server(), checkpoint), baseline=refused)
    assert bad(tokens.check(run)) == {"baseline": "fail"}


GARBAGE = [
    Reply(200, "text/html", b"<h1>It works</h1>"),
    Reply(200, "application/json", b"\xff{"),
    Reply(200, "text/event-stream", b"data: \xff\n\ndata: [1]\n\ndata: [DONE]\n\n"),
    as_json(200, []),
    as_json(200, {}),
    as_json(200, {"data": [1, {}], "choices": None, "usage": [1]}),
    as_json(200, {"choices": [{"message": None}], "usage": None}),
    as_json(200, {"choices": [{"message": {"content": 5}, "token_ids": ["x"], "finish_reason": None}], "usage": {}}),
    as_events([json.dumps({"choices": [None], "usage": 3}), "5", "[DONE]"]),
]


@pytest.mark.parametrize("reply", GARBAGE)
def test_garbage_is_never_a_pass_and_never_a_traceback(checkpoint, reply):
    results = run_checks(make_run(fake_server(lambda *_a: reply), checkpoint), CHECKS)
    assert "pass" not in [result.verdict for result in results]


def test_a_check_that_cannot_run_is_reported_and_the_others_go_on(checkpoint):
    class Dead:
        def send(self, *_arguments):
            raise Unreachable("found no answer")

    alive = make_run(fake_server(), checkpoint)
    results = run_checks(
        dataclasses.replace(alive, operator=dataclasses.replace(alive.operator, transport=Dead())), CHECKS
    )
    assert {result.check: result.verdict for result in results} == dict.fromkeys(CHECKS, "could-not-run")
    assert results[2].evidence[0].saw == "found no answer"


def test_every_piece_of_the_contract_has_a_fault_that_breaks_it(checkpoint):
    names = {item.name for item in api.check(make_run(fake_server(), checkpoint)).evidence}
    assert names == {*API_FAULTS, "after the refusals"}
