"""A checkpoint in Hugging Face transformers on the CPU: loaded strictly, asked for one page, greedy or teacher-forced.

Runs inside the model's image, as a part of `smoke.baseline`. torch and transformers are imported where they are used,
so that the host's tests can import the rest.
"""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

# Passes with and without a cache add up in another order. Float32 keeps 7 digits, so logits of size 10 to 30 agree to
# about 1e-5; a difference past this bound is a defect, and one below it is a tie.
FLOAT32_NOISE = 1e-3

Json = dict[str, Any]


class BaselineError(Exception):
    """The checkpoint cannot be computed as the specification says."""


def rename(key: str, rules: dict[str, str]) -> str:
    """`key` with the first matching prefix replaced; a key without one stays."""
    for old, new in rules.items():
        if key.startswith(old):
            return new + key.removeprefix(old)
    return key


def load_model(folder: Path, spec: Json, dtype: Any) -> Any:
    """The checkpoint in `spec["class"]`, every tensor accounted for, or BaselineError.

    Strict because the class loads without an error when a whole part is missing: the part then stays random.
    """
    import transformers
    from safetensors.torch import load_file

    state = {}
    for file in sorted(folder.glob("*.safetensors")):
        state.update({rename(key, spec["rename"]): tensor for key, tensor in load_file(file).items()})
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, spec["class"])
    if not isinstance(config, kind.config_class):
        raise BaselineError(f"found a config of type {config.model_type}, need one for {spec['class']}")
    model, info = kind.from_pretrained(None, config=config, state_dict=state, dtype=dtype, output_loading_info=True)
    require_complete(set(state), set(model.state_dict()), info, tied=tied_head(config, model))
    return model.eval()


def tied_head(config: Any, model: Any) -> bool:
    """Whether the output head is the embedding matrix itself, as a tied configuration demands."""
    head, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    return bool(config.get_text_config().tie_word_embeddings) and head.data_ptr() == embedding.data_ptr()


def require_complete(stored: set[str], wanted: set[str], info: Json, *, tied: bool) -> None:
    """Raise BaselineError unless the stored keys are exactly the wanted ones.

    The one exception: a tied `lm_head.weight` may be absent, because the loaded model holds the embedding there.
    """
    missing = wanted - stored - ({"lm_head.weight"} if tied else set())
    unexpected = stored - wanted
    wrong = sorted(missing | unexpected | set(info["missing_keys"]) | set(info["unexpected_keys"]))
    wrong += [str(item) for item in info["mismatched_keys"]]
    if wrong:
        raise BaselineError(
            f"found {len(missing)} tensors missing and {len(unexpected)} unexpected "
            f"({', '.join(wrong[:3])}, ...), need each exactly once"
        )


def load_processor(folder: Path, spec: Json) -> Any:
    """The checkpoint's own processor, of the class and with the image grid that `spec` names, or BaselineError."""
    import transformers

    processor = transformers.AutoProcessor.from_pretrained(folder)
    if type(processor).__name__ != spec["processor"]:
        raise BaselineError(f"found the processor {type(processor).__name__}, need {spec['processor']}")
    grid = processor.patch_size * processor.spatial_merge_size
    if grid != spec["image_grid"]:
        raise BaselineError(f"found an image grid of {grid} px, need {spec['image_grid']}")
    return processor


def page_inputs(processor: Any, page: Json, spec: Json) -> Any:
    """Model inputs for one page: image only, no text, as the server's chat template puts it.

    Tokens that the processor adds but the model was not trained with (`drop_tokens`) are deleted by id; then the
    number of image tokens must be that of the grid, or BaselineError.
    """
    import torch
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(page["png"]))).convert("RGB")
    messages = [{"role": "user", "content": [{"type": "image"}]}]
    prompt = processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    tensors = processor(images=[image], text=[prompt], return_tensors="pt")
    drop = [processor.tokenizer.convert_tokens_to_ids(getattr(processor, name)) for name in spec["drop_tokens"]]
    keep = ~torch.isin(tensors["input_ids"][0], torch.tensor(drop))
    for name in ("input_ids", "attention_mask"):
        tensors[name] = tensors[name][:, keep]

    rows, columns = image_grid(tensors, spec)
    count = int((tensors["input_ids"] == processor.image_token_id).sum())
    if count != rows * columns:
        raise BaselineError(f"found {count} image tokens on {page['name']}, need {rows} x {columns}")
    return tensors


def image_grid(tensors: Any, spec: Json) -> tuple[int, int]:
    """Rows and columns of image tokens; BaselineError when a side of the image is no multiple of the grid."""
    height, width = (int(side) for side in tensors["image_sizes"][0])
    grid = spec["image_grid"]
    if height % grid or width % grid or tuple(tensors["pixel_values"].shape[-2:]) != (height, width):
        raise BaselineError(f"found an image of {width}x{height} px, need multiples of {grid}")
    return height // grid, width // grid


def stop_ids(folder: Path) -> set[int]:
    """The ids that end an answer: `eos_token_id` of generation_config.json, as vLLM takes it."""
    stop = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))["eos_token_id"]
    return set(stop) if isinstance(stop, list) else {stop}


def greedy(model: Any, tensors: Any, max_tokens: int, stop: set[int]) -> list[int]:
    """Greedy ids up to and with the first stop id, at most `max_tokens`."""
    import torch

    ids: list[int] = []
    with torch.inference_mode():
        out = model(**_cast(tensors, model.dtype), use_cache=True, logits_to_keep=1)
        while True:
            ids.append(int(out.logits[0, -1].argmax()))
            if ids[-1] in stop or len(ids) == max_tokens:
                return ids
            out = model(input_ids=torch.tensor([[ids[-1]]]), past_key_values=out.past_key_values, use_cache=True)


def forced(model: Any, tensors: Any, ids: list[int]) -> Any:
    """Logits of shape (len(ids), vocabulary), float32: row t is given the prompt and ids[:t]. One pass, no cache."""
    import torch

    path = torch.cat([tensors["input_ids"], torch.tensor([ids[:-1]], dtype=torch.long)], dim=1)
    whole = {**_cast(tensors, model.dtype), "input_ids": path, "attention_mask": torch.ones_like(path)}
    with torch.inference_mode():
        logits = model(**whole, use_cache=False, logits_to_keep=len(ids)).logits[0]
    return logits.float()


def with_second(logits: Any, ids: list[int]) -> Any:
    """Ids of shape (len(ids), 2): the greedy id of each position and the best other id by `logits`."""
    import torch

    first = torch.tensor(ids).unsqueeze(1)
    others = logits.scatter(1, first, float("-inf"))
    return torch.cat([first, others.argmax(dim=1, keepdim=True)], dim=1)


def margin(logits: Any, pair: Any) -> list[float]:
    """How far the first id of each pair lies above the second, per position, in logits."""
    values = logits.gather(1, pair)
    return [float(value) for value in values[:, 0] - values[:, 1]]


def _cast(tensors: Any, dtype: Any) -> Json:
    return {**tensors, "pixel_values": tensors["pixel_values"].to(dtype)}
