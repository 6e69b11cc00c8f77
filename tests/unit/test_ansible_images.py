"""Which images the plays would build: the table of what changed against what is rebuilt."""

import json
from typing import Any

import pytest
from ansible_filters import load

images = load("images")
LABEL = "dev.ascend-dock.inputs"
ROOT = "/repo"
FILES = {
    "images/Dockerfile": "1",
    "images/docker-bake.hcl": "2",
    "images/merge_serve.py": "3",
    "images/engine-cpu/Dockerfile": "4",
    "images/engine-cpu/install": "5",
    "images/gateway/Dockerfile": "6",
    "ansible/lock/0.18.0.cpu-amd64.txt": "7",
    "ansible/lock/0.18.0.cpu-arm64.txt": "8",
    "ansible/lock/0.18.0.yml": "9",
    "models/lightonocr/serve.yaml": "a",
    "models/lightonocr/serve.cpu.yaml": "b",
    "models/lightonocr/serve.npu.yaml": "c",
}
SETTINGS = {
    "root": ROOT,
    "line": "0.18.0",
    "arch": "amd64",
    "target": "cpu",
    "models": ["lightonocr"],
    "base": "ascend-dock/debian:bookworm",
    "foreign": "",
    "label": LABEL,
}


def found(files: dict[str, str]) -> list[dict[str, Any]]:
    """Files as Ansible's find module lists them."""
    return [{"path": f"{ROOT}/{path}", "checksum": checksum} for path, checksum in files.items()]


def image(tag: str, inputs: str | None, identity: str = "sha256:1") -> dict[str, Any]:
    """One image as `docker image inspect` prints it, as far as it is read."""
    labels = {LABEL: inputs} if inputs is not None else None
    return {"Id": identity, "RepoTags": [tag], "RepoDigests": [], "Config": {"Labels": labels}}


def built(settings: dict[str, Any], *others: dict[str, Any]) -> str:
    """What docker says when everything was built from FILES with `settings`."""
    inputs = images.images_plan(found(FILES), json.dumps(list(others)), settings)["inputs"]
    mine = [
        image(settings["base"], None),
        image("ascend-dock/engine-cpu:0.18.0", inputs["engine-cpu"]),
        image(f"ascend-dock/lightonocr:0.18.0-{settings['target']}", inputs["lightonocr"]),
        image("ascend-dock/gateway:0.18.0", inputs["gateway"]),
    ]
    return json.dumps([*mine, *others])


@pytest.mark.parametrize(
    ("changed", "targets"),
    [
        ("", []),
        ("images/Dockerfile", ["lightonocr"]),
        ("images/merge_serve.py", ["lightonocr"]),
        ("images/docker-bake.hcl", ["engine-cpu", "lightonocr", "gateway"]),
        ("images/engine-cpu/install", ["engine-cpu", "lightonocr"]),
        ("images/gateway/Dockerfile", ["gateway"]),
        ("ansible/lock/0.18.0.cpu-amd64.txt", ["engine-cpu", "lightonocr"]),
        ("ansible/lock/0.18.0.cpu-arm64.txt", []),
        ("ansible/lock/0.18.0.yml", []),
        ("models/lightonocr/serve.yaml", ["lightonocr"]),
        ("models/lightonocr/serve.cpu.yaml", ["lightonocr"]),
        ("models/lightonocr/serve.npu.yaml", []),
        ("images/engine-cpu/new-file", ["engine-cpu", "lightonocr"]),
    ],
)
def test_what_a_change_rebuilds(changed: str, targets: list[str]) -> None:
    """A changed file rebuilds the images made of it and those that stand on them, and no other."""
    files = FILES | ({changed: "changed"} if changed else {})
    plan = images.images_plan(found(files), built(SETTINGS), SETTINGS)
    assert plan["targets"] == targets
    assert not plan["base"]
    assert not plan["pull"]


@pytest.mark.parametrize("inspected", ["", "[]", "Cannot connect to the Docker daemon"])
def test_a_bare_machine_gets_everything(inspected: str) -> None:
    """Without images, or without an engine to ask, all is to be made, the engine first."""
    plan = images.images_plan(found(FILES), inspected, SETTINGS)
    assert plan["targets"] == ["engine-cpu", "lightonocr", "gateway"]
    assert plan["base"]


def test_images_without_our_label_are_rebuilt() -> None:
    """An image of the right name that was built by hand says nothing of what it is made of."""
    there = json.dumps([image("ascend-dock/lightonocr:0.18.0-cpu", None), image(SETTINGS["base"], None)])
    assert "lightonocr" in images.images_plan(found(FILES), there, SETTINGS)["targets"]


def test_an_engine_from_elsewhere_is_pulled_once_and_never_built() -> None:
    """NPU hosts, and users who name an image."""
    settings = SETTINGS | {"target": "npu", "foreign": "registry.example/engine:1"}
    plan = images.images_plan(found(FILES), "", settings)
    assert (plan["pull"], plan["targets"]) == ("registry.example/engine:1", ["lightonocr", "gateway"])
    engine = image("registry.example/engine:1", None, "sha256:e1")
    plan = images.images_plan(found(FILES), built(settings, engine), settings)
    assert (plan["pull"], plan["targets"]) == ("", [])


def test_a_tag_that_names_another_image_now_rebuilds_the_model() -> None:
    """The same name after a pull or a load may be another engine."""
    settings = SETTINGS | {"foreign": "engine:1"}
    before = built(settings, image("engine:1", None, "sha256:e1"))
    after = before.replace("sha256:e1", "sha256:e2")
    assert images.images_plan(found(FILES), after, settings)["targets"] == ["lightonocr"]


@pytest.mark.parametrize(
    ("name", "tags", "digests"),
    [
        ("engine", ["engine:latest"], []),
        ("reg.example:5000/engine", ["reg.example:5000/engine:latest"], []),
        ("engine@sha256:aa", [], ["engine@sha256:aa"]),
    ],
)
def test_names_without_a_tag_and_with_a_digest_are_found(name: str, tags: list[str], digests: list[str]) -> None:
    """Docker completes names; a port is not a tag."""
    there = [{"Id": "sha256:1", "RepoTags": tags, "RepoDigests": digests, "Config": {"Labels": None}}]
    assert images.images_plan(found(FILES), json.dumps(there), SETTINGS | {"foreign": name})["pull"] == ""
