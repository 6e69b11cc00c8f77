"""The openai package, pointed at the gateway, works as against OpenAI."""

import base64
import json

import openai
import pytest

from dock import catalog
from dock.pages import load_pages
from dock.text import cer


@pytest.fixture(scope="module")
def client(stack):
    return openai.OpenAI(base_url=f"{stack.url}/v1", api_key=stack.key("user"), max_retries=0)


def demo_message():
    folder = catalog.find("lightonocr").folder / "pages"
    page = load_pages(folder / "standin.pdf")[0]
    truth = json.loads((folder / "standin.json").read_text(encoding="utf-8"))[0]["truth"]
    url = f"data:{page.mime};base64,{base64.b64encode(page.data).decode()}"
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}], truth


def test_a_streamed_chat_completion_of_the_demo_page(client):
    """The user key gets the page's text in pieces, an end reason and the token counts."""
    messages, truth = demo_message()
    stream = client.chat.completions.create(
        model="lightonocr",
        messages=messages,
        max_tokens=1024,
        temperature=0,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert len(pieces) > 10
    assert cer(truth, "".join(pieces)) <= 0.05
    assert ends == ["stop"]
    assert chunks[-1].usage.completion_tokens >= len(pieces)


def test_the_models_list_names_the_model(client):
    assert "lightonocr" in [model.id for model in client.models.list()]


def test_a_wrong_key_raises_the_packages_own_error(stack):
    stranger = openai.OpenAI(base_url=f"{stack.url}/v1", api_key="wrong", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_an_unknown_model_raises_the_packages_own_error(client):
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="no-such-model", messages=[{"role": "user", "content": "Hello"}])


def test_two_images_raise_the_packages_own_error(client):
    messages, _truth = demo_message()
    messages[0]["content"] *= 2
    with pytest.raises(openai.BadRequestError, match="At most 1 image"):
        client.chat.completions.create(model="lightonocr", messages=messages, max_tokens=8)
