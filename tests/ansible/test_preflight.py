"""What preflight refuses, on this machine, by the real playbook: one line, exit code 2, nothing changed."""

from __future__ import annotations

import os
import platform
import socket
from pathlib import Path

import pytest

from tests.ansible.playbook import assert_refused, play

PREFLIGHT = "ansible/playbooks/preflight.yml"
NO_DOCKER = {"host_facts_docker": "/nowhere/docker", "host_facts_dockerd": []}


def test_a_taken_port_is_refused() -> None:
    """A process of somebody else listens on the gateway's port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        finished = play(PREFLIGHT, "--extra-vars", f"stack_port={port}")
    assert_refused(finished, f"port {port} taken by a process that listens on 127.0.0.1", "stack_port")


def test_a_disk_that_is_too_small_is_refused() -> None:
    """The need is set beyond any disk."""
    finished = play(PREFLIGHT, variables={"preflight_disk_gib": dict.fromkeys(SIZES, 10**6)})
    assert_refused(finished, "GiB free on ", "need ")


SIZES = ("packages", "base", "engine", "pulled", "model", "gateway", "state")


def test_no_docker_and_no_way_to_install_it_is_refused(tmp_path: Path) -> None:
    """No client, no daemon, and an apt without a single source."""
    config = tmp_path / "apt.conf"
    config.write_text('Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\n')
    finished = play(PREFLIGHT, variables=NO_DOCKER, APT_CONFIG=str(config))
    release = platform.freedesktop_os_release()
    if os.geteuid() != 0:
        assert_refused(finished, "no running Docker engine", "need root")
    elif (release["ID"], release["VERSION_ID"]) in {("debian", "12"), ("debian", "13")}:
        assert_refused(finished, "no Docker engine and no package source", "/etc/apt")
    else:
        assert_refused(finished, "no tested way to install one")


def test_a_docker_host_that_does_not_answer_is_refused() -> None:
    """Installing a second engine would not help a client that is pointed elsewhere."""
    finished = play(PREFLIGHT, DOCKER_HOST="tcp://127.0.0.1:9")
    assert_refused(finished, "DOCKER_HOST=tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"preflight_memory_gib": 10**6}, "GiB of memory"),
        ({"lock_line": "0.1.0"}, "need one of: 0.18.0"),
        ({"stack_port": 70000}, "1 to 65535"),
        ({"stack_bind": "localhost"}, "IPv4"),
    ],
)
def test_values_out_of_range_are_refused(variables: dict[str, object], word: str) -> None:
    """What a person may set wrongly."""
    assert_refused(play(PREFLIGHT, variables=variables), word)


def test_a_value_of_the_wrong_type_is_named() -> None:
    """The roles' argument specs name the variable."""
    finished = play(PREFLIGHT, variables={"stack_port": "many"})
    assert finished.rc == 2
    assert "preflight_port" in finished.output
