"""The LightOnOCR stand-in: its word lists, its pages, and the committed checkpoint (read without torch)."""

from __future__ import annotations

import hashlib
import json
import random
import struct
import subprocess
import sys
from itertools import pairwise
from math import prod
from pathlib import Path

import pypdfium2
import pytest

from dock.settings import ROOT
from standins import checkpoint, demo, words
from standins.layout import BOTTOM, COLUMNS, HEIGHT_PT, ROWS, TEXT_COLUMNS, VERTICAL, WIDTH_PT
from standins.pages import KINDS, MAX_LINES, generate
from standins.pdf import write_pdf
from standins.raster import CHARACTERS, Atlas, darkness, render

FOLDER = ROOT / "models" / "lightonocr" / "standin"
PAGES = ROOT / "models" / "lightonocr" / "pages"
SIZES = checkpoint.Sizes()
PUBLISHED = {
    "added_tokens.json",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "processor_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
}


def read(name: str) -> dict:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def random_pages(seed: int, count: int = 200) -> list:
    rng, listed = random.Random(seed), words.test_words()
    return [generate(rng, lambda: rng.choice(listed), KINDS[i % len(KINDS)]) for i in range(count)]


# Words


def test_train_and_test_words_share_nothing():
    train, test = set(words.train_words()), set(words.test_words())
    assert not train & test
    assert len(train) > 3000 and len(test) > 500


def test_the_hash_alone_decides_the_list():
    odd = {word for word in words.ENGLISH if hashlib.sha256(word.encode()).hexdigest()[-1] in "13579bdf"}
    assert odd == set(words.test_words())
    assert not any(words.is_test(word) for word in words.train_words())
    assert words.is_test("Harbor") == words.is_test("harbor")


def test_random_letters_for_training_never_spell_a_test_word():
    draw = words.TrainWords(random.Random(0))
    assert not any(words.is_test(draw()) for _ in range(3000))


def test_invented_words_are_the_same_every_time():
    assert words.invented(50) == words.invented(50) != words.invented(50, seed=2)


# Pages


def test_pages_depend_on_the_seed_only():
    first, again, other = (write_pdf(random_pages(seed, 8)) for seed in (3, 3, 4))
    assert first == again != other


def test_every_character_of_the_truth_has_a_place_on_the_page():
    for page in random_pages(5):
        assert len(page.places) == len(page.truth) + 1
        assert all(0 <= row < ROWS and 0 <= column < COLUMNS for row, column in page.places)
        drawn = {(mark.row, mark.column): mark.what for mark in page.marks if len(mark.what) == 1}
        assert len(drawn) == sum(len(mark.what) == 1 for mark in page.marks), "two characters in one cell"
        shown = {place: char for char, place in zip(page.truth, page.places, strict=False)}
        assert all(shown[place] == char for place, char in drawn.items())


def test_pages_hold_what_their_kind_says():
    for page in random_pages(6):
        lines = page.truth.split("\n")
        assert page.truth.startswith("# ") == ("heading" in page.kind)
        assert any(set(line) == {"|", " ", "-"} for line in lines) == ("table" in page.kind)
        assert any(mark.what == BOTTOM for mark in page.marks) == ("table" in page.kind)
        plain = [line for line in lines if line and line[0] not in "#|"]
        assert len(plain) <= MAX_LINES and all(len(line) <= TEXT_COLUMNS for line in lines)
        assert page.kind != "plain" or plain
        assert set(page.truth) <= set(CHARACTERS) | set("#|- \n")


@pytest.mark.parametrize("lines", [1, 4, 8])
def test_number_of_lines_can_be_asked_for(lines):
    listed = words.test_words()
    rng = random.Random(lines)
    page = generate(rng, lambda: rng.choice(listed), "plain", lines=lines)
    assert len(page.truth.split("\n")) == lines


def test_pages_use_test_words_only():
    train = set(words.train_words())
    for page in [*random_pages(7, 40), *demo.demo_set()]:
        found = {word.strip(".,|#- ").lower() for word in page.truth.split()}
        named = {word for word in found if word.isalpha()}
        assert all(words.is_test(word) for word in named), named
        assert not named & train


def test_pdf_opens_with_the_asked_for_sheets_and_text():
    pages = random_pages(8, 5)
    document = pypdfium2.PdfDocument(write_pdf(pages))
    assert len(document) == 5
    for sheet, page in zip(document, pages, strict=True):
        assert sheet.get_size() == (WIDTH_PT, HEIGHT_PT)
        held = sheet.get_textpage().get_text_bounded().split()
        wanted = [w for w in page.truth.replace("---", "").replace("|", "").replace("#", "").split() if w]
        assert sorted(held) == sorted(wanted)
    assert render(write_pdf(pages[:1]))[0].size == (1155, 1540)


def test_training_pages_look_as_pdfium_draws_them():
    pages = random_pages(9, 4)
    atlas = Atlas()
    for image, page in zip(render(write_pdf(pages)), pages, strict=True):
        true, fast = darkness(image), atlas.draw(page.marks, ROWS)
        assert true.shape == fast.shape == (448, 336)
        assert abs(true - fast).mean() < 0.002 < true.mean()
        letters = [(m.row, m.column) for m in page.marks if m.what not in (VERTICAL, BOTTOM) and len(m.what) == 1]
        for row, column in letters:
            cell = (slice(row * 28 + 8, row * 28 + 24), slice(column * 14 + 3, column * 14 + 11))
            assert abs(true[cell] - fast[cell]).max() < 0.1


# The committed data


def test_committed_pages_are_what_the_generator_writes(tmp_path: Path):
    assert demo.write(tmp_path) == 10
    for name in ("standin.pdf", "standin.json"):
        assert (tmp_path / name).read_bytes() == (PAGES / name).read_bytes()
    truths = json.loads((PAGES / "standin.json").read_text(encoding="utf-8"))
    assert [entry["page"] for entry in truths] == list(range(1, 11))
    assert truths[0]["truth"].startswith("# ") and "| --- |" in truths[0]["truth"]


def test_manifest_matches_the_files():
    manifest = read("manifest.json")
    assert set(manifest["files"]) == PUBLISHED
    assert {path.name for path in FOLDER.iterdir()} == PUBLISHED | {"manifest.json"}
    for name, entry in manifest["files"].items():
        data = (FOLDER / name).read_bytes()
        assert entry == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    lines = "".join(f"{name} {manifest['files'][name]['sha256']}\n" for name in sorted(PUBLISHED))
    assert manifest["revision"] == "standin-" + hashlib.sha256(lines.encode()).hexdigest()[:12]


def test_checkpoint_is_small_and_readable_by_another_user():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 8_000_000
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in FOLDER.iterdir())


def test_small_files_are_what_the_writer_writes():
    for name, data in checkpoint.small_files(SIZES).items():
        assert (FOLDER / name).read_bytes() == data, name


def published_names(text_layers: int, vision_layers: int) -> set[str]:
    """Tensor names of the published checkpoint for these numbers of layers (28 and 24 there: 532 names)."""
    vision = "attention.q_proj attention.k_proj attention.v_proj attention.o_proj attention_norm ffn_norm"
    vision += " feed_forward.gate_proj feed_forward.up_proj feed_forward.down_proj"
    text = "self_attn.q_proj self_attn.k_proj self_attn.v_proj self_attn.o_proj self_attn.q_norm self_attn.k_norm"
    text += " mlp.gate_proj mlp.up_proj mlp.down_proj input_layernorm post_attention_layernorm"
    projection = ["norm", "patch_merger.merging_layer", "linear_1", "linear_2"]
    names = {f"vision_projection.{part}" for part in projection}
    names |= {
        "vision_encoder.patch_conv",
        "vision_encoder.ln_pre",
        "language_model.embed_tokens",
        "language_model.norm",
    }
    names |= {f"vision_encoder.transformer.layers.{i}.{part}" for i in range(vision_layers) for part in vision.split()}
    names |= {f"language_model.layers.{i}.{part}" for i in range(text_layers) for part in text.split()}
    return {f"model.{name}.weight" for name in names}


def test_published_names_are_counted_as_published():
    assert len(published_names(28, 24)) == 532


def test_weights_have_the_published_names_and_type():
    data = (FOLDER / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    text = data[8 : 8 + length]
    header = json.loads(text)
    assert header.pop("__metadata__") == {"format": "pt"}
    assert not text.endswith(b" "), "the published header is not padded"
    assert set(header) == published_names(SIZES.text_layers, SIZES.vision_layers)
    assert {entry["dtype"] for entry in header.values()} == {"BF16"}
    spans = sorted(tuple(entry["data_offsets"]) for entry in header.values())
    assert spans[0][0] == 0 and spans[-1][1] == len(data) - 8 - length
    assert all(end == start for (_, end), (start, _) in pairwise(spans))
    for entry in header.values():
        assert prod(entry["shape"]) * 2 == entry["data_offsets"][1] - entry["data_offsets"][0]
    assert header["model.language_model.embed_tokens.weight"]["shape"] == [SIZES.vocab, SIZES.text_hidden]
    merging = header["model.vision_projection.patch_merger.merging_layer.weight"]["shape"]
    assert merging == [SIZES.vision_hidden, 4 * SIZES.vision_hidden]


def test_config_is_the_published_one_but_for_sizes():
    config = read("config.json")
    assert config["architectures"] == ["LightOnOCRForConditionalGeneration"]
    assert (config["model_type"], config["spatial_merge_size"], config["vision_feature_layer"]) == ("mistral3", 2, -1)
    assert (config["projector_hidden_act"], config["multimodal_projector_bias"]) == ("gelu", False)
    text, vision = config["text_config"], config["vision_config"]
    assert (text["model_type"], text["max_position_embeddings"], text["rope_theta"]) == ("qwen3", 16384, 1000000)
    assert (text["rms_norm_eps"], text["tie_word_embeddings"]) == (1e-6, True)
    assert (vision["model_type"], vision["patch_size"]) == ("pixtral", 14)
    # 1540 twice in the published files, 448 twice here: vLLM takes the grid from one, the processor from the other.
    assert vision["image_size"] == read("processor_config.json")["image_processor"]["size"]["longest_edge"] == 448
    assert (vision["rope_theta"], vision["hidden_act"], vision["num_channels"]) == (10000, "silu", 3)


def test_processor_sits_in_its_own_nested_file():
    processor = read("processor_config.json")
    assert processor["processor_class"] == "PixtralProcessor"
    assert (processor["patch_size"], processor["spatial_merge_size"]) == (14, 2)
    image = processor["image_processor"]
    assert image["image_processor_type"] == "PixtralImageProcessorFast"
    assert (image["size"], image["resample"], image["patch_size"]) == ({"longest_edge": 448}, 3, 14)


def test_token_ids_agree_in_all_files():
    added, config, generation = read("added_tokens.json"), read("config.json"), read("generation_config.json")
    tokenizer, settings = read("tokenizer.json"), read("tokenizer_config.json")
    special = read("special_tokens_map.json")
    assert len(added) == 26
    assert added == {entry["content"]: entry["id"] for entry in tokenizer["added_tokens"]}
    assert added == {entry["content"]: int(key) for key, entry in settings["added_tokens_decoder"].items()}
    assert config["image_token_id"] == added["<|image_pad|>"]
    assert config["eos_token_id"] == config["text_config"]["eos_token_id"] == added["<|im_end|>"]
    assert config["pad_token_id"] == added["<|endoftext|>"]
    assert generation["eos_token_id"] == [added["<|im_end|>"], added["<|endoftext|>"]]
    assert (generation["temperature"], generation["top_p"], generation["top_k"]) == (0.2, 0.9, 0)
    assert special["eos_token"]["content"] == settings["eos_token"] == "<|im_end|>"
    assert settings["tokenizer_class"] == "Qwen2Tokenizer"
    assert max(added.values()) < config["text_config"]["vocab_size"]


def test_every_byte_is_the_token_of_its_own_number():
    vocabulary = read("tokenizer.json")["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(256))
    assert all(vocabulary[chr(byte)] == byte for byte in range(0x21, 0x7F))
    assert (vocabulary["\u0120"], vocabulary["\u010a"]) == (0x20, 0x0A)  # byte-level BPE's blank and line end


def test_training_log_ends_with_the_shipped_revision_at_its_goal():
    text = (ROOT / "models" / "lightonocr" / "standin.log").read_text(encoding="utf-8")
    assert len(text) < 100_000
    lines = text.splitlines()
    assert lines[-1].endswith(f"written as revision {read('manifest.json')['revision']}")
    whole_pages = [line for line in lines if f"held-out rows={ROWS} " in line]
    assert float(whole_pages[-1].partition("cer=")[2]) <= 0.05


# The command line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "gpt"], "invalid choice: 'gpt'"),
        (["export", "lightonocr", "--state", "/nowhere/state.pt"], "found no"),
        (["evaluate", "lightonocr", "--checkpoint", "/nowhere"], "found no"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message):
    done = subprocess.run(
        [sys.executable, "-m", "standins", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
