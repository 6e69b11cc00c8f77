"""The written checkpoint through the `transformers` class in float32 (or BF16): what the stand-in is measured with.

Mistral3's class knows the tensors by other names and its processor puts a break token after each row of image tokens;
LightOnOCR has neither. So the names are mapped and those tokens are taken out again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors.torch import load_file
from transformers import AutoConfig, AutoProcessor, Mistral3ForConditionalGeneration
from transformers.utils import logging

from dock.errors import InputError
from standins.checkpoint import IM_END, IMAGE, IMAGE_BREAK, IMAGE_END, PAD

RENAMES = (
    ("model.vision_encoder.", "model.vision_tower."),
    ("model.vision_projection.", "model.multi_modal_projector."),
)
PROJECTOR_EPS = 1e-5  # vLLM's; transformers would take the text model's 1e-6


@dataclass
class Baseline:
    """A loaded checkpoint and its processor."""

    model: Any
    processor: Any

    def inputs(self, images: list[Image.Image]) -> dict[str, torch.Tensor]:
        """`input_ids` [B, T] as vLLM builds them, `attention_mask`, `pixel_values` and `image_sizes`."""
        messages = [[{"role": "user", "content": [{"type": "image"}]}] for _ in images]
        texts = [self.processor.apply_chat_template(message, add_generation_prompt=True) for message in messages]
        inputs = self.processor(images=images, text=texts, return_tensors="pt")
        rows = [row[(row != IMAGE_BREAK) & (row != IMAGE_END)] for row in inputs["input_ids"]]
        ids = torch.stack(rows)
        grid = int((inputs["image_sizes"] // 28).prod(-1).sum())
        if int((ids == IMAGE).sum()) != grid:
            raise InputError(f"found {int((ids == IMAGE).sum())} image tokens, need {grid}")
        pixels = inputs["pixel_values"].to(self.model.dtype)
        return {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "pixel_values": pixels,
            "image_sizes": inputs["image_sizes"],
        }

    @torch.no_grad()
    def read(self, images: list[Image.Image], max_tokens: int = 400) -> list[str]:
        """Greedy transcription of images of one size."""
        inputs = self.inputs(images)
        out = self.model.generate(
            **inputs, max_new_tokens=max_tokens, do_sample=False, eos_token_id=IM_END, pad_token_id=PAD,
            temperature=None, top_p=None, top_k=None,
        )  # fmt: skip
        new = out[:, inputs["input_ids"].shape[1] :]
        return [str(text) for text in self.processor.batch_decode(new, skip_special_tokens=True)]


def load(folder: Path, dtype: torch.dtype = torch.float32) -> Baseline:
    """The checkpoint in `folder`; InputError when a tensor is missing or left over."""
    logging.set_verbosity_error()
    config = AutoConfig.from_pretrained(folder)
    state = load_file(folder / "model.safetensors")
    for old, new in RENAMES:
        state = {new + name.removeprefix(old) if name.startswith(old) else name: t for name, t in state.items()}
    model = Mistral3ForConditionalGeneration(config)
    missing, unexpected = model.load_state_dict(state, strict=False)
    if set(missing) != {"lm_head.weight"} or unexpected:
        raise InputError(f"found tensors missing {missing} and left over {unexpected} in {folder}, need none")
    model.tie_weights()
    model.model.multi_modal_projector.norm.variance_epsilon = PROJECTOR_EPS
    return Baseline(model.to(dtype).eval(), AutoProcessor.from_pretrained(folder))
