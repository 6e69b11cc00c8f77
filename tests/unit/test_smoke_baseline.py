"""smoke.reference without torch: renaming, and that no tensor may be missing or left over."""

import subprocess
import sys

import pytest

from smoke.reference import BaselineError, rename, require_complete

RULES = {"model.vision_encoder.": "model.vision_tower.", "model.vision_projection.": "model.multi_modal_projector."}
NOTHING = {"missing_keys": [], "unexpected_keys": [], "mismatched_keys": []}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("model.vision_encoder.ln_pre.weight", "model.vision_tower.ln_pre.weight"),
        ("model.vision_projection.norm.weight", "model.multi_modal_projector.norm.weight"),
        ("model.language_model.norm.weight", "model.language_model.norm.weight"),
        ("x.model.vision_encoder.y", "x.model.vision_encoder.y"),  # a prefix, not a substring
        ("model.vision_tower.ln_pre.weight", "model.vision_tower.ln_pre.weight"),  # twice is once
    ],
)
def test_rename(key, expected):
    assert rename(key, RULES) == expected


@pytest.mark.parametrize(
    ("stored", "info", "tied"),
    [({"a", "lm_head.weight"}, NOTHING, False), ({"a"}, NOTHING, True), ({"a", "lm_head.weight"}, NOTHING, True)],
)
def test_a_complete_checkpoint_is_taken(stored, info, tied):
    require_complete(stored, {"a", "lm_head.weight"}, info, tied=tied)


@pytest.mark.parametrize(
    ("stored", "info", "tied"),
    [
        ({"a"}, NOTHING, False),  # the head is absent and not tied
        ({"lm_head.weight"}, NOTHING, True),  # another tensor is missing
        ({"a", "b"}, NOTHING, True),  # one is left over
        ({"a"}, {**NOTHING, "missing_keys": ["a"]}, True),  # transformers says so
        ({"a"}, {**NOTHING, "unexpected_keys": ["z"]}, True),
        ({"a"}, {**NOTHING, "mismatched_keys": [("a", (1,), (2,))]}, True),
    ],
)
def test_an_incomplete_checkpoint_is_refused(stored, info, tied):
    with pytest.raises(BaselineError, match="need each exactly once"):
        require_complete(stored, {"a", "lm_head.weight"}, info, tied=tied)


def test_importing_smoke_does_not_import_torch():
    """The host has no torch: only the part that runs inside the image may ask for it."""
    code = "import sys; import smoke.__main__; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
