"""smoke.checkpoint: identity by bytes, and the number of image tokens by the known answers of two processors."""

import json

import pytest
from smoke_parts import write_checkpoint

from dock.errors import SettingsError
from smoke.checkpoint import Checkpoint

PROCESSOR = {"patch_size": 14, "spatial_merge_size": 2}


def with_edge(folder, longest_edge):
    checkpoint = write_checkpoint(folder)
    data = {**PROCESSOR, "image_processor": {"size": {"longest_edge": longest_edge}}}
    (folder / "processor_config.json").write_text(json.dumps(data))
    return checkpoint


@pytest.mark.parametrize(
    ("longest_edge", "width", "height", "expected"),
    [
        (1540, 1654, 2339, 2145),  # A4 at 200 DPI
        (1540, 1700, 2200, 2365),  # US Letter; 2310 with a grid of 14
        (1540, 1700, 2800, 1870),  # US Legal
        (1540, 1540, 1540, 3025),
        (1540, 463, 894, 544),  # a receipt: small pages are not enlarged
        (448, 1155, 1540, 192),
        (448, 1540, 1155, 192),
        (448, 1, 1, 1),
        (224, 187, 242, 56),
    ],
)
def test_image_tokens(tmp_path, longest_edge, width, height, expected):
    assert with_edge(tmp_path, longest_edge).image_tokens(width, height) == expected


def test_digests_follow_the_bytes(tmp_path):
    checkpoint = write_checkpoint(tmp_path)
    before = checkpoint.digests()
    assert set(before) == {"model.safetensors", "config.json", "processor_config.json"}
    assert before == checkpoint.digests()
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    assert checkpoint.digests() != before


def test_a_folder_without_weights_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="found no checkpoint in"):
        Checkpoint(tmp_path).digests()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"image_token_id": "x"}', '{"image_token_id": null}'])
def test_a_configuration_without_the_number_is_one_line(tmp_path, text):
    checkpoint = write_checkpoint(tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(SettingsError, match="without a number image_token_id"):
        checkpoint.image_token_id()


def test_a_missing_configuration_is_one_line(tmp_path):
    checkpoint = write_checkpoint(tmp_path)
    (tmp_path / "config.json").unlink()
    with pytest.raises(SettingsError, match=r"found no .*config.json, need it"):
        checkpoint.image_token_id()
