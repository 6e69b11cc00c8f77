"""Writes the LightOnOCR stand-in in the published file layout.

Same files, same keys in them, same special tokens by name, same tensor names; only sizes and token ids are smaller: the
vocabulary is the 256 bytes (id = byte) and the published special tokens behind them.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<tool_call>",
    "</tool_call>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
ADDITIONAL = [*SPECIAL_TOKENS[1:14]]  # the rest are added tokens, but not special ones
TOKEN_ID = {token: 256 + index for index, token in enumerate(SPECIAL_TOKENS)}
PAD, IM_START, IM_END = TOKEN_ID["<|endoftext|>"], TOKEN_ID["<|im_start|>"], TOKEN_ID["<|im_end|>"]
IMAGE, IMAGE_BREAK, IMAGE_END = TOKEN_ID["<|image_pad|>"], TOKEN_ID["<|vision_pad|>"], TOKEN_ID["<|vision_end|>"]
MAX_POSITIONS = 16384
LONGEST_EDGE = 448
IMAGE_MEAN = (0.48145466, 0.4578275, 0.40821073)
IMAGE_STD = (0.26862954, 0.26130258, 0.27577711)

CHAT_TEMPLATE = """\
{{- '<|im_start|>system' -}}
{%- if messages[0]['role'] == 'system' -%}
  {{- '\\n' -}}
  {%- if messages[0]['content'] is string -%}
    {{- messages[0]['content'] -}}
  {%- else -%}
    {%- for part in messages[0]['content'] -%}{{- part['text'] -}}{%- endfor -%}
  {%- endif -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- for message in messages -%}
  {%- if message['role'] != 'system' -%}
    {{- '<|im_start|>' + message['role'] + '\\n' -}}
    {%- if message['content'] is string -%}
      {{- message['content'] -}}
    {%- else -%}
      {%- for part in message['content'] -%}
        {%- if part['type'] == 'image' or part['type'] == 'image_url' -%}
          {{- '<|image_pad|>' -}}
        {%- elif part['type'] == 'text' -%}
          {{- part['text'] -}}
        {%- endif -%}
      {%- endfor -%}
    {%- endif -%}
    {{- '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\\n' -}}
{%- endif -%}
"""
PROMPT_BEFORE = "<|im_start|>system<|im_end|>\n<|im_start|>user\n"
PROMPT_AFTER = "<|im_end|>\n<|im_start|>assistant\n"


@dataclass(frozen=True)
class Sizes:
    """What makes the stand-in small. All else is as published."""

    vocab: int = 384
    text_hidden: int = 192
    text_inter: int = 512
    text_layers: int = 4
    text_heads: int = 4
    text_kv_heads: int = 2
    text_head_dim: int = 64
    vision_hidden: int = 128
    vision_inter: int = 384
    vision_layers: int = 3
    vision_heads: int = 4
    vision_head_dim: int = 32


def config(sizes: Sizes) -> dict[str, Any]:
    """The published `config.json` with this model's sizes and token ids."""
    return {
        "architectures": ["LightOnOCRForConditionalGeneration"],
        "dtype": "bfloat16",
        "eos_token_id": IM_END,
        "image_token_id": IMAGE,
        "model_type": "mistral3",
        "multimodal_projector_bias": False,
        "pad_token_id": PAD,
        "projector_hidden_act": "gelu",
        "spatial_merge_size": 2,
        "text_config": {
            "architectures": ["Qwen3ForCausalLM"],
            "attention_bias": False,
            "attention_dropout": 0.0,
            "dtype": "bfloat16",
            "eos_token_id": IM_END,
            "head_dim": sizes.text_head_dim,
            "hidden_act": "silu",
            "hidden_size": sizes.text_hidden,
            "initializer_range": 0.02,
            "intermediate_size": sizes.text_inter,
            "layer_types": ["full_attention"] * sizes.text_layers,
            "max_position_embeddings": MAX_POSITIONS,
            "max_window_layers": sizes.text_layers,
            "model_type": "qwen3",
            "num_attention_heads": sizes.text_heads,
            "num_hidden_layers": sizes.text_layers,
            "num_key_value_heads": sizes.text_kv_heads,
            "pad_token_id": PAD,
            "rms_norm_eps": 1e-06,
            "rope_parameters": {"rope_theta": 1000000, "rope_type": "default"},
            "rope_theta": 1000000,
            "sliding_window": None,
            "tie_word_embeddings": True,
            "use_cache": True,
            "use_sliding_window": False,
            "vocab_size": sizes.vocab,
        },
        "tie_word_embeddings": True,
        "transformers_version": "5.0.0.dev0",
        "vision_config": {
            "attention_dropout": 0.0,
            "dtype": "bfloat16",
            "head_dim": sizes.vision_head_dim,
            "hidden_act": "silu",
            "hidden_size": sizes.vision_hidden,
            # vLLM computes the image grid from this, the processor from longest_edge: they must agree, as published.
            "image_size": LONGEST_EDGE,
            "initializer_range": 0.02,
            "intermediate_size": sizes.vision_inter,
            "model_type": "pixtral",
            "num_attention_heads": sizes.vision_heads,
            "num_channels": 3,
            "num_hidden_layers": sizes.vision_layers,
            "patch_size": 14,
            "rope_parameters": {"rope_theta": 10000, "rope_type": "default"},
            "rope_theta": 10000,
        },
        "vision_feature_layer": -1,
    }


def processor_config() -> dict[str, Any]:
    """The published `processor_config.json`, image processor inside, with the stand-in's longest edge."""
    return {
        "image_break_token": "<|vision_pad|>",
        "image_end_token": "<|vision_end|>",
        "image_processor": {
            "data_format": "channels_first",
            "do_convert_rgb": True,
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": list(IMAGE_MEAN),
            "image_processor_type": "PixtralImageProcessorFast",
            "image_std": list(IMAGE_STD),
            "patch_size": 14,
            "resample": 3,
            "rescale_factor": 0.00392156862745098,
            "size": {"longest_edge": LONGEST_EDGE},
        },
        "image_token": "<|image_pad|>",
        "patch_size": 14,
        "processor_class": "PixtralProcessor",
        "spatial_merge_size": 2,
    }


def byte_symbols() -> list[str]:
    """The printable character that byte-level BPE writes for each byte, by byte (GPT-2's table: printable Latin-1
    stands for itself, the other bytes are numbered from U+0100 in order)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def _added(token: str) -> dict[str, Any]:
    special = token in SPECIAL_TOKENS[:14]
    return {
        "content": token,
        "lstrip": False,
        "normalized": False,
        "rstrip": False,
        "single_word": False,
        "special": special,
    }


def tokenizer() -> dict[str, Any]:
    """`tokenizer.json`: byte-level BPE without merges, so every byte of text is one token and its id is the byte."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    # Qwen2's words. Without merges they change nothing, but a tokenizer of this family splits so.
    words = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": TOKEN_ID[token], **_added(token)} for token in SPECIAL_TOKENS],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": words}, "behavior": "Isolated", "invert": False},
                byte_level,
            ],
        },
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": "",
            "end_of_word_suffix": "",
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {symbol: byte for byte, symbol in enumerate(byte_symbols())},
            "merges": [],
        },
    }


def tokenizer_config() -> dict[str, Any]:
    """The published `tokenizer_config.json` with this vocabulary's ids."""
    return {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {str(TOKEN_ID[token]): _added(token) for token in SPECIAL_TOKENS},
        "additional_special_tokens": ADDITIONAL,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "errors": "replace",
        "extra_special_tokens": {},
        "image_break_token": "<|vision_pad|>",
        "image_end_token": "<|vision_end|>",
        "image_token": "<|image_pad|>",
        "model_max_length": 131072,
        "pad_token": "<|endoftext|>",
        "processor_class": "PixtralProcessor",
        "split_special_tokens": False,
        "tokenizer_class": "Qwen2Tokenizer",
        "unk_token": None,
    }


def small_files(sizes: Sizes) -> dict[str, bytes]:
    """Every file of the layout but the weights, by name."""
    plain = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    documents: dict[str, Any] = {
        "added_tokens.json": dict(sorted(TOKEN_ID.items())),
        "config.json": config(sizes),
        "generation_config.json": {
            "_from_model_config": True,
            "do_sample": True,
            "eos_token_id": [IM_END, PAD],
            "pad_token_id": PAD,
            "temperature": 0.2,
            "top_k": 0,
            "top_p": 0.9,
            "transformers_version": "5.0.0.dev0",
        },
        "processor_config.json": processor_config(),
        "special_tokens_map.json": {
            "additional_special_tokens": ADDITIONAL,
            "eos_token": {"content": "<|im_end|>", **plain},
            "pad_token": {"content": "<|endoftext|>", **plain},
        },
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": tokenizer_config(),
    }
    files = {name: (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode() for name, data in documents.items()}
    return {**files, "chat_template.jinja": CHAT_TEMPLATE.encode()}


def safetensors(tensors: Mapping[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    """A safetensors file of BF16 tensors, name -> (shape, bytes); compact header without padding, as published."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        shape, data = tensors[name]
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(tensors[name][1] for name in sorted(tensors))


def revision(sha256s: Iterable[tuple[str, str]]) -> str:
    """`standin-` and 12 hex digits: SHA-256 over the sorted lines `name sha256`."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(sha256s))
    return "standin-" + hashlib.sha256(lines.encode()).hexdigest()[:12]


def write_file(path: Path, data: bytes) -> None:
    """Write all or nothing, mode 0644: the engine reads as another user."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(data)
    temporary.chmod(0o644)
    temporary.replace(path)


def write(folder: Path, sizes: Sizes, tensors: Mapping[str, tuple[tuple[int, ...], bytes]]) -> str:
    """Write the checkpoint into `folder`, `manifest.json` last; returns its revision."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {**small_files(sizes), "model.safetensors": safetensors(tensors)}
    entries = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in sorted(files.items())
    }
    name = revision((name, str(entry["sha256"])) for name, entry in entries.items())
    (folder / "manifest.json").unlink(missing_ok=True)
    for file, data in files.items():
        write_file(folder / file, data)
    manifest = {"revision": name, "files": entries}
    write_file(folder / "manifest.json", (json.dumps(manifest, indent=2) + "\n").encode())
    return name
