"""Trains the LightOnOCR stand-in on CPU cores, in stages from small images to whole pages.

A decoder that is shown whole pages from the start learns nothing for hours: it can neither see letters nor find them.
So it gets four aids, which are thrown away at the end and are no part of the checkpoint:

- a head that names the two characters in each image token, straight from the projector;
- one attention head of the third layer is told, by its loss, which image token holds the next character;
- a head on that layer's input names the row and the column of the next character;
- small images are the top rows of a page, and what follows them has the positions that it has on a whole page, so that
  what is learned on few rows stays true on many.

Stages differ in the number of rows of the image. Seeds are fixed. The state is saved often, and
training resumes from it.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  (PyTorch's own convention)

from dock.text import corpus_cer
from standins import checkpoint
from standins.checkpoint import IM_END, PROMPT_AFTER, PROMPT_BEFORE, SPECIAL_TOKENS, Sizes
from standins.layout import COLUMNS, MARGIN_ROWS, ROWS
from standins.network import Network, tensors
from standins.pages import KINDS, generate
from standins.pdf import write_pdf
from standins.raster import Atlas, darkness, normalise, render
from standins.samples import BLANK, IGNORE, SMALLEST, Batch, batch
from standins.words import TrainWords, test_words

AID_LAYER = 2
SEED = 20
SAVE_EVERY_S = 120.0
CHECK_EVERY_S = 400.0


@dataclass(frozen=True)
class Stage:
    """Rows of the image, images in a batch, and when to go on: at most `steps`, or below `until` (smoothed loss)."""

    name: str
    rows: tuple[int, ...]  # drawn in turn
    size: tuple[int, ...]
    steps: int
    until: float
    rate: float = 1e-3
    decay: bool = False  # cosine to 2 % over the steps


STAGES = (
    Stage("see", (4,), (24,), 2000, 0.05),
    Stage("line", (2,), (48,), 3000, 0.10),
    Stage("lines", (4, 2), (24, 48), 2000, 0.10),
    Stage("half", (8, 4), (12, 24), 1500, 0.08),
    Stage("page", (16, 16, 16, 8), (8, 8, 8, 12), 850, 0.0, decay=True),
)


def encode(text: str) -> list[int]:
    """Token ids of `text` with special tokens in it."""
    ids: list[int] = []
    while text:
        token = next((token for token in SPECIAL_TOKENS if text.startswith(token)), None)
        ids += [checkpoint.TOKEN_ID[token]] if token else list(text[0].encode())
        text = text[len(token) if token else 1 :]
    return ids


BEFORE, AFTER = torch.tensor(encode(PROMPT_BEFORE)), torch.tensor(encode(PROMPT_AFTER))


class Aids(nn.Module):
    """The heads that only training needs."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.shown = nn.Linear(sizes.text_hidden, 2 * sizes.vocab)
        self.place = nn.Linear(sizes.text_hidden, ROWS + COLUMNS)


def prompt(network: Network, image: Tensor) -> Tensor:
    """Embedded prompt [B, before + image tokens + after, D]."""
    size = image.shape[0]
    before, after = (network.embed(ids)[None].expand(size, -1, -1) for ids in (BEFORE, AFTER))
    return torch.cat((before, image, after), dim=1)


def positions(rows: int, length: int) -> Tensor:
    """Positions [length] of a sequence with an image of `rows` rows: after the image as if it had all 16."""
    image_end = len(BEFORE) + rows * COLUMNS // 2
    gap = (ROWS - rows) * COLUMNS // 2
    return torch.cat((torch.arange(image_end), torch.arange(image_end + gap, length + gap)))


def losses(network: Network, aids: Aids, data: Batch, *, text: bool) -> dict[str, Tensor]:
    """Mean losses: `shown`, and with `text` also `text`, `pointer`, `place`."""
    image = network.see(data.pixels)
    guess = aids.shown(image).unflatten(-1, (2, -1)).flatten(0, 2)
    label = data.shown.flatten()
    weight = torch.where(label == BLANK, 0.1, 1.0)
    found = {"shown": (F.cross_entropy(guess.float(), label, reduction="none") * weight).sum() / weight.sum()}
    if not text:
        return found
    x = torch.cat((prompt(network, image), network.embed(data.ids[:, :-1])), dim=1)
    start = x.shape[1] - data.ids.shape[1]
    places = positions(data.pixels.shape[2] // 28, x.shape[1])
    hidden, pointer, entering = network.read(x, places, aid=AID_LAYER, first_text=start)
    assert pointer is not None and entering is not None  # noqa: S101  (for the type checker)
    real = data.targets != IGNORE
    found["text"] = F.cross_entropy(network.logits(hidden[:, start:][real]).float(), data.targets[real])
    row, column = data.places[real].unbind(-1)
    token = len(BEFORE) + row * (COLUMNS // 2) + column // 2
    found["pointer"] = -pointer[real].gather(1, token[:, None]).mean()
    place = aids.place(entering[:, start:][real]).float()
    found["place"] = F.cross_entropy(place[:, :ROWS], row) + F.cross_entropy(place[:, ROWS:], column)
    return found


WEIGHTS = {"shown": 1.0, "text": 1.0, "pointer": 0.3, "place": 0.1}


@torch.no_grad()
def greedy(network: Network, pixels: Tensor, limit: int = 330) -> list[str]:
    """Greedy transcription of [B, 3, H, W]."""
    caches: list[list[Tensor]] = [[] for _ in network.text.layers]
    asked = prompt(network, network.see(pixels))
    places = positions(pixels.shape[2] // 28, asked.shape[1] + limit)
    hidden, _, _ = network.read(asked, places[: asked.shape[1]], caches)
    out: list[list[int]] = [[] for _ in range(len(pixels))]
    done = [False] * len(pixels)
    for at in range(asked.shape[1], asked.shape[1] + limit):
        chosen = network.logits(hidden[:, -1]).argmax(-1)
        for index, token in enumerate(chosen.tolist()):
            done[index] = done[index] or token == IM_END
            if not done[index]:
                out[index].append(token)
        if all(done):
            break
        hidden, _, _ = network.read(network.embed(chosen)[:, None], places[at : at + 1], caches)
    return [bytes(token for token in ids if token < 256).decode(errors="replace") for ids in out]


def held_out(rows: int, count: int = 32, seed: int = 7) -> tuple[Tensor, list[str]]:
    """Pages of test words through the true path, cut to `rows` rows: pixels and truths."""
    rng, words = random.Random(seed), test_words()  # noqa: S311
    kinds = [kind for kind in KINDS if SMALLEST[kind] <= rows - MARGIN_ROWS]
    pages = [generate(rng, lambda: rng.choice(words), kinds[i % len(kinds)], rows - MARGIN_ROWS) for i in range(count)]
    pixels = [torch.from_numpy(normalise(darkness(image)[: rows * 28])) for image in render(write_pdf(pages))]
    return torch.stack(pixels), [page.truth for page in pages]


def rate(stage: Stage, step: int) -> float:
    """Learning rate: 100 steps of warm-up in each stage, then constant or a cosine down to 2 %."""
    warm = min(1.0, (step + 1) / 100)
    fall = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / stage.steps)) if stage.decay else 1.0
    return stage.rate * warm * fall


class Trainer:
    """The state of one training, and what is written about it."""

    def __init__(self, state: Path, log: Path) -> None:
        torch.manual_seed(SEED)
        self.sizes = Sizes()
        self.network, self.aids = Network(self.sizes), Aids(self.sizes)
        self.parameters = [*self.network.parameters(), *self.aids.parameters()]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
        self.rng = random.Random(SEED)  # noqa: S311
        self.words, self.atlas = TrainWords(self.rng), Atlas()
        self.stage = self.step = self.total = 0
        self.seconds = 0.0
        self.state, self.log = state, log
        if state.exists():
            self.load(torch.load(state, weights_only=False))

    def load(self, saved: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.network.load_state_dict(saved["network"])
        self.aids.load_state_dict(saved["aids"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.rng.setstate(saved["rng"])
        self.stage, self.step, self.total, self.seconds = saved["at"]

    def save(self) -> None:
        """Write the state, all or nothing."""
        part = self.state.with_suffix(".part")
        torch.save(
            {
                "network": self.network.state_dict(),
                "aids": self.aids.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "rng": self.rng.getstate(),
                "at": (self.stage, self.step, self.total, self.seconds),
            },
            part,
        )
        part.replace(self.state)

    def say(self, text: str) -> None:
        """One line to the log and to standard error."""
        with self.log.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
        print(text, file=sys.stderr, flush=True)  # noqa: T201

    def check(self, stage: Stage, count: int = 32) -> float:
        """CER on held-out pages of the stage's largest size."""
        pixels, truths = held_out(max(stage.rows), count)
        cer = corpus_cer(list(zip(truths, greedy(self.network, pixels), strict=True)))
        self.say(f"{self.total} {stage.name} t={self.seconds:.0f}s held-out rows={max(stage.rows)} cer={cer:.4f}")
        return cer

    def steps(self) -> Iterator[tuple[Stage, dict[str, float], float]]:
        """One optimiser step at a time: the stage, its losses, seconds taken. Ends with the last stage."""
        while self.stage < len(STAGES):
            stage = STAGES[self.stage]
            began = time.monotonic()
            turn = self.step % len(stage.rows)
            data = batch(self.rng, self.words, self.atlas, stage.rows[turn], stage.size[turn])
            with torch.autocast("cpu", torch.bfloat16):
                found = losses(self.network, self.aids, data, text=stage.name != "see")
            loss = sum((WEIGHTS[name] * value for name, value in found.items()), torch.tensor(0.0))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters, 1.0)
            for group in self.optimizer.param_groups:
                group["lr"] = rate(stage, self.step)
            self.optimizer.step()
            self.step += 1
            self.total += 1
            took = time.monotonic() - began
            self.seconds += took
            yield stage, {name: float(value.detach()) for name, value in found.items()}, took

    def run(self) -> None:
        """Train to the end of the last stage."""
        smooth: dict[str, float] = {}
        pages, spent, saved, checked = 0, 0.0, time.monotonic(), time.monotonic()
        for stage, found, took in self.steps():
            for name, value in found.items():
                smooth[name] = 0.95 * smooth.get(name, value) + 0.05 * value
            pages += stage.size[(self.step - 1) % len(stage.size)]
            spent += took
            if self.total % 100 == 0:
                text = " ".join(f"{name}={value:.4f}" for name, value in smooth.items())
                self.say(f"{self.total} {stage.name} t={self.seconds:.0f}s {text} pages/s={pages / spent:.1f}")
                pages, spent = 0, 0.0
            key = "shown" if stage.name == "see" else "text"
            ended = self.step >= stage.steps or (self.step > 150 and smooth[key] < stage.until)
            if stage.name != "see" and (ended or time.monotonic() - checked > CHECK_EVERY_S):
                self.check(stage)
                checked = time.monotonic()
            if ended:
                self.stage, self.step, smooth = self.stage + 1, 0, {}
            if ended or time.monotonic() - saved > SAVE_EVERY_S:
                self.save()
                saved = time.monotonic()


def export(state: Path, folder: Path, log: Path) -> str:
    """Write the checkpoint of a saved training state and say so in the log; returns its revision."""
    saved = torch.load(state, weights_only=False)
    network = Network(Sizes())
    network.load_state_dict(saved["network"])
    revision = checkpoint.write(folder, Sizes(), tensors(network))
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{saved['at'][2]} written as revision {revision}\n")
    return revision


def untrained(folder: Path) -> str:
    """Write the checkpoint with the weights that training starts from; returns its revision."""
    torch.manual_seed(SEED)
    return checkpoint.write(folder, Sizes(), tensors(Network(Sizes())))
