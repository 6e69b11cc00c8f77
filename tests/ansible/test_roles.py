"""The shape of the roles, and the parts of them that run without containers."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from dock.settings import ROOT, load
from tests.ansible.playbook import Play, assert_refused, play
from tests.conftest import run

ROLES = sorted(path for path in (ROOT / "ansible/roles").iterdir())
PART = "tests/ansible/plays/part.yml"


def documents(role: Path) -> str:
    """All text of a role."""
    return "\n".join(
        path.read_text() for path in role.rglob("*") if path.is_file() and path.parent.name != "__pycache__"
    )


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_argument_specs_equal_the_defaults(role: Path) -> None:
    """Ansible does not apply defaults of the specs, so both are written, and must not drift apart."""
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    options = yaml.safe_load((role / "meta/argument_specs.yml").read_text())["argument_specs"]["main"]["options"]
    assert {name: option["default"] for name, option in options.items()} == defaults
    assert all(option["description"].endswith(".") for option in options.values())


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_variable_has_its_roles_name_and_is_used(role: Path) -> None:
    """`<role>_x` is public, `__<role>_x` is internal, and nothing is left over."""
    defaults = yaml.safe_load((role / "defaults/main.yml").read_text())
    internal = yaml.safe_load((role / "vars/main.yml").read_text()) if (role / "vars/main.yml").exists() else {}
    assert all(name.startswith(f"{role.name}_") for name in defaults)
    assert all(name.startswith(f"__{role.name}_") for name in internal)
    text = documents(role)
    for name in [*defaults, *internal]:
        declared = 2 if name in defaults else 1  # in defaults and specs, or in vars
        assert len(re.findall(rf"\b{name}\b", text)) > declared, f"{name} is not used"


def test_no_role_swallows_errors() -> None:
    """ignore_errors hides faults; a probe says with failed_when why its failure is an answer."""
    for path in (ROOT / "ansible").rglob("*.yml"):
        for line in path.read_text().splitlines():
            assert "ignore_errors" not in line, path
            assert "failed_when: false" not in line or "#" in line, f"{path}: {line} says not why"


@pytest.mark.parametrize("path", ["site.yml", *sorted(map(str, (ROOT / "ansible/playbooks").glob("*.yml")))])
def test_playbooks_parse(path: str) -> None:
    """Every verb."""
    done = run("ansible-playbook", "--syntax-check", path)
    assert done.returncode == 0, done.stdout + done.stderr


def place(source: Path, target: Path) -> Play:
    """Run the role weights from a checkout at `source` into `target`."""
    return play(PART, variables={"role": "weights", "weights_root": str(source), "weights_dir": str(target)})


def test_weights_are_placed_whole_or_not_at_all(tmp_path: Path) -> None:
    """First run, second run, a run that was cut off, a damaged source."""
    source, target = tmp_path / "repo", tmp_path / "models"
    standin = source / "models/lightonocr/standin"
    shutil.copytree(ROOT / "models/lightonocr/standin", standin)
    manifest = json.loads((standin / "manifest.json").read_text())
    home = target / "lightonocr" / manifest["revision"]

    assert place(source, target).rc == 0
    for name, entry in manifest["files"].items():
        copied = home / "ready" / name
        assert hashlib.sha256(copied.read_bytes()).hexdigest() == entry["sha256"]
        assert copied.stat().st_mode & 0o777 == 0o644
    assert (home / "ready").stat().st_mode & 0o777 == 0o755
    assert place(source, target).changed == 0

    # Cut off: a file is short and the marker, which goes last, is not there.
    (home / "manifest.json").unlink()
    with (home / "ready/model.safetensors").open("r+b") as file:
        file.truncate(100)
    assert place(source, target).changed > 0
    assert (home / "ready/model.safetensors").stat().st_size == manifest["files"]["model.safetensors"]["size"]

    # Damaged: one byte of the source differs; nothing of it is placed.
    shutil.rmtree(target)
    data = bytearray((standin / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (standin / "model.safetensors").write_bytes(data)
    assert_refused(place(source, target), "model.safetensors damaged")
    assert not target.exists()


def facts(target: str, dev: Path) -> dict[str, Any]:
    """What host_facts would have found; `true` in place of the Docker client accepts every command."""
    nodes = [path.name for path in dev.iterdir()]
    return {"docker": "true", "dev": str(dev), "target": target, "nodes": nodes, "project": "none"}


def configure(root: Path, target: str, *options: str) -> Play:
    """Run what the role stack does before it touches containers, into `root`."""
    dev = root.parent / "dev"
    dev.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    if target == "npu":
        for name in ("davinci3", "davinci5", "davinci_manager"):
            (dev / name).touch()
    variables = {
        "role": "stack",
        "part": "configure",
        "stack_root": str(root),
        "stack_revisions": {"lightonocr": "r1"},
        "host_facts_machine": facts(target, dev),
    }
    return play(PART, *options, variables=variables)


def test_keys_are_made_once_and_never_shown(tmp_path: Path) -> None:
    """32 random bytes each; the map holds hashes; no output, however verbose, holds a key."""
    root = tmp_path / "repo"
    finished = configure(root, "cpu", "-vvv", "--diff")
    assert finished.rc == 0, finished.output
    keys = {name: (root / "state/keys" / name).read_text().strip() for name in ("user", "operator")}
    assert all(re.fullmatch(r"[0-9a-f]{64}", key) for key in keys.values())
    assert keys["user"] != keys["operator"]
    assert all(key not in finished.output for key in keys.values())
    assert all((root / "state/keys" / name).stat().st_mode & 0o777 == 0o600 for name in keys)
    lines = (root / "state/gateway/keys.map").read_text().splitlines()
    assert lines == [f"{hashlib.sha256(key.encode()).hexdigest()} {name}:{name}" for name, key in keys.items()]
    assert configure(root, "cpu").changed == 0
    assert (root / "state/keys/user").read_text().strip() == keys["user"]


def test_an_unknown_scope_is_refused(tmp_path: Path) -> None:
    """A key of a scope that the gateway does not know would be a key without rights."""
    root = tmp_path / "repo"
    finished = configure(root, "cpu", "--extra-vars", '{"stack_keys": {"ci": "admin"}}')
    assert finished.rc == 2
    assert "found scope admin" in finished.output
    assert not (root / "state").exists()


@pytest.mark.parametrize("target", ["cpu", "npu"])
def test_the_settings_are_what_dock_and_compose_read(tmp_path: Path, target: str) -> None:
    """.env holds the target, the images, and on an NPU host the first chip and the group of its nodes."""
    root = tmp_path / "repo"
    finished = configure(root, target)
    assert finished.rc == 0, finished.output
    read = load(root)
    assert (read.target, read.url) == (target, "http://127.0.0.1:8080")
    assert read.models_dir == root / "state/models"
    assert read.revision("lightonocr") == "r1"
    assert read.get("LIGHTONOCR_IMAGE") == f"ascend-dock/lightonocr:0.18.0-{target}"
    if target == "npu":
        assert read.get("NPU_CHIP") == "3"
        assert read.get("NPU_GID") == str((root.parent / "dev/davinci_manager").stat().st_gid)
    else:
        assert "NPU_CHIP" not in read.values
    assert (root / ".env").stat().st_mode & 0o777 == 0o644
    assert configure(root, target).changed == 0
