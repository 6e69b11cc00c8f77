"""What the plays decide about the container engine."""

from typing import Any

import pytest
import yaml
from ansible_filters import load

from dock.settings import ROOT

engine = load("engine")
LOCK = yaml.safe_load((ROOT / "ansible/lock/0.18.0.yml").read_text())["engine"]
RECIPES = yaml.safe_load((ROOT / "ansible/roles/container_engine/vars/main.yml").read_text())[
    "__container_engine_recipes"
]
BARE = {
    "os": "debian 12",
    "root": True,
    "docker_host": "",
    "server": "",
    "compose": "",
    "buildx": "",
    "denied": False,
    "dockerd": "",
    "distro_engine": False,
}
PLUGINS = {"compose": "Docker Compose version 2.26.1-4", "buildx": "github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3"}
GOOD = PLUGINS | {"server": "26.1.5+dfsg1", "dockerd": "/usr/sbin/dockerd"}
VENDOR = {"server": "28.5.1", "compose": "v2.40.0", "buildx": "github.com/docker/buildx v0.29.1 a32761a"}

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    # what the machine is, what is different from a bare Debian 12, action, words of the message
    ("bare Debian 12", {}, "install", "no running"),
    ("bare Debian 13", {"os": "debian 13"}, "install", "no running"),
    ("bare Ubuntu", {"os": "ubuntu 24"}, "refuse", "no tested way to install one on ubuntu 24"),
    ("bare openEuler", {"os": "openeuler 24"}, "refuse", "as your system's vendor says"),
    ("not root", {"root": False}, "refuse", "need root"),
    ("only a client", {"compose": "", "buildx": ""}, "install", "no running"),
    ("our engine", GOOD | {"distro_engine": True}, "keep", "fits"),
    ("our engine, in the group docker", GOOD | {"root": False}, "keep", "fits"),
    ("vendor's engine", VENDOR, "keep", "fits"),
    ("vendor's engine on openEuler", VENDOR | {"os": "openeuler 22"}, "keep", "fits"),
    ("remote engine", VENDOR | {"docker_host": "tcp://10.0.0.1:2375"}, "keep", "fits"),
    ("stopped", PLUGINS | {"dockerd": "/usr/sbin/dockerd", "distro_engine": True}, "start", "not running"),
    ("stopped, not root", PLUGINS | {"dockerd": "/usr/sbin/dockerd", "root": False}, "refuse", "need root"),
    ("stopped vendor's engine without plugins", {"dockerd": "/usr/bin/dockerd"}, "start", "not running"),
    ("half installed", {"dockerd": "/usr/sbin/dockerd", "distro_engine": True}, "install", "no running"),
    ("not in the group", {"denied": True, "root": False}, "refuse", "group docker"),
    ("DOCKER_HOST answers not", {"docker_host": "tcp://10.0.0.1:2375"}, "refuse", "unset DOCKER_HOST"),
    ("Docker 20.10 runs", GOOD | {"server": "20.10.24", "distro_engine": True}, "refuse", "Docker Engine 20.10.24"),
    ("just too old", GOOD | {"server": "26.0.9"}, "refuse", "26.0.9"),
    ("just new enough", GOOD | {"server": "26.1.0"}, "keep", "fits"),
    ("Compose v1", VENDOR | {"compose": "docker-compose version 1.29.2"}, "refuse", "1.29.2"),
    ("no Buildx, our engine", GOOD | {"buildx": "", "distro_engine": True}, "install", "Docker Buildx absent"),
    ("no Buildx, vendor's engine", VENDOR | {"buildx": ""}, "refuse", "Docker Buildx absent"),
    ("no Buildx, not root", GOOD | {"buildx": "", "distro_engine": True, "root": False}, "refuse", "absent"),
    ("a minor of two digits", GOOD | {"compose": "2.100.0"}, "keep", "fits"),
]


@pytest.mark.parametrize(("host", "action", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_decision(host: dict[str, Any], action: str, words: str) -> None:
    """Each kind of machine gets its action, and a refusal says what was found and what to do."""
    answer = engine.engine_decision(BARE | host, LOCK, RECIPES)
    assert answer["action"] == action, answer
    assert words in answer["message"]
    if action == "refuse":
        assert answer["message"].startswith("found ")
        assert ", need " in answer["message"]
        assert ", do: " in answer["message"]
        assert "\n" not in answer["message"]
    if action == "install":
        assert answer["recipe"]["packages"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("28.2.2+dfsg1", (28, 2, 2)),
        ("v2.40.0", (2, 40, 0)),
        ("Docker Compose version 2.26.1-4", (2, 26, 1)),
        ("github.com/docker/buildx 0.13.1+ds1 0.13.1+ds1-3", (0, 13, 1)),
        ("", ()),
        ("no number", ()),
    ],
)
def test_versions_are_read(text: str, version: tuple[int, ...]) -> None:
    """Docker, Compose and Buildx each print their version in another way."""
    assert engine.version_of(text) == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"Client":{"Version":"28.2.2"},"Server":{"Version":"26.1.5+dfsg1"}}', "26.1.5+dfsg1"),
        ('{"Client":{"Version":"28.2.2"},"Server":null}', ""),
        ('{"Client":{"Version":"28.2.2"}}', ""),
        ("null", ""),
        ("", ""),
        ("Emulate Docker CLI using podman.", ""),
    ],
)
def test_a_client_is_no_engine(text: str, version: str) -> None:
    """Only a Server block with a version is an engine."""
    assert engine.server_of(text) == version
