"""What the tests of smoke share: two small pages, a checkpoint folder, and a run on the fake server."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import yaml
from fake_openai import END, FakeServer, no_fault, prompt_ids
from PIL import Image

from dock.pages import Page
from smoke.checkpoint import Checkpoint
from smoke.client import Server
from smoke.compare import PageBaseline, noise_floor
from smoke.run import Corpus, Run
from smoke.store import Baseline

TEXTS = ["# One\n\nfirst page 123 and some more words", "second page 456"]
PLAN = yaml.safe_load((Path(__file__).parents[2] / "models/lightonocr/smoke.yaml").read_text(encoding="utf-8"))
IMAGE_TOKENS = 2 * 3  # pages of 56 x 84 px in squares of 28 px


def png(shade: int) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (56, 84), (shade, shade, shade)).save(buffer, "PNG")
    return buffer.getvalue()


PAGES = [Page(f"pages.pdf#{number}", png(number * 40), "image/png", 56, 84) for number in (1, 2)]
CORPUS = Corpus(PAGES, TEXTS)


def fake_server(fault=no_fault, texts=TEXTS):
    answers = {hashlib.sha256(page.data).hexdigest(): text for page, text in zip(PAGES, texts, strict=True)}
    return FakeServer(answers, IMAGE_TOKENS, fault)


def page_baseline(page, text, margin=5.0):
    ids = (*text.encode(), END)
    many = len(ids)
    return PageBaseline(
        page.name, (3, 2), tuple(prompt_ids(IMAGE_TOKENS)), ids, (7,) * many, (margin,) * many, (margin - 0.25,) * many
    )


def baseline(pages=None):
    pages = pages or [page_baseline(page, text) for page, text in zip(PAGES, TEXTS, strict=True)]
    made = {"versions": {"torch": "2.10.0", "transformers": "4.57.6"}}
    kind = "Mistral3ForConditionalGeneration"
    return Baseline({page.name: page for page in pages}, noise_floor(pages), Path("baseline.json"), kind, made)


def write_checkpoint(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_text(json.dumps({"image_token_id": 268}))
    processor = {"patch_size": 14, "spatial_merge_size": 2, "image_processor": {"size": {"longest_edge": 448}}}
    (folder / "processor_config.json").write_text(json.dumps(processor))
    return Checkpoint(folder)


def make_run(server, checkpoint, *, quick=False, stored=None):
    return Run(
        model="lightonocr",
        plan=PLAN,
        corpus=CORPUS,
        user=Server(server, "key-user"),
        operator=Server(server, "key-operator"),
        quick=quick,
        checkpoint=lambda: checkpoint,
        baseline=lambda: stored or baseline(),
        progress=lambda _line: None,
    )
