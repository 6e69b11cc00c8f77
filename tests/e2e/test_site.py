"""`ansible-playbook site.yml` on a machine that it has converged: nothing to do, and small changes done gently."""

from __future__ import annotations

import json

import pytest

from dock.settings import ROOT, Settings
from tests.ansible.playbook import play
from tests.conftest import run

CONFIG = ROOT / "state/gateway/haproxy.cfg"


def gateway() -> tuple[str, str]:
    """Id and start time of the gateway's container."""
    identity = run("docker", "compose", "ps", "--quiet", "gateway").stdout.strip()
    inspected = json.loads(run("docker", "inspect", identity).stdout)
    return identity, inspected[0]["State"]["StartedAt"]


def test_a_second_run_changes_nothing(stack: Settings) -> None:
    """The same command again; the keys are the same, and it ends with the table."""
    key = stack.key("user")
    finished = play("site.yml")
    assert finished.rc == 0, finished.output
    assert finished.changed == 0, finished.output
    assert stack.key("user") == key
    row = next(line for line in finished.output.splitlines() if "cat ./state/keys/user" in line)
    assert all(word in row for word in ("lightonocr", stack.target, stack.url, "good"))


def test_a_dry_run_on_a_converged_machine_changes_nothing(stack: Settings) -> None:
    """`--check --diff` finds no difference and shows no key."""
    finished = play("site.yml", "--check", "--diff")
    assert finished.rc == 0, finished.output
    assert finished.changed == 0, finished.output
    assert stack.key("user") not in finished.output


@pytest.mark.usefixtures("stack")
def test_a_changed_setting_reloads_the_gateway_without_a_restart() -> None:
    """HAProxy takes the new configuration; its container goes on."""
    before = gateway()
    finished = play("site.yml", "--skip-tags", "verify", variables={"stack_engine_maxconn": 63})
    try:
        assert finished.rc == 0, finished.output
        assert "RUNNING HANDLER [stack : Reload the gateway]" in finished.output
        assert "maxconn 63" in CONFIG.read_text()
        assert gateway() == before
        logs = run("docker", "compose", "logs", "--tail", "20", "gateway")
        assert "Loading success" in logs.stdout
    finally:
        assert play("site.yml", "--skip-tags", "verify").rc == 0
    assert "maxconn 64" in CONFIG.read_text()
    assert gateway() == before


@pytest.mark.usefixtures("stack")
def test_a_configuration_that_haproxy_refuses_replaces_nothing() -> None:
    """It is checked with the gateway's own image before the old one goes."""
    before = CONFIG.read_text()
    finished = play("site.yml", "--skip-tags", "verify", variables={"stack_engine_maxconn": "many"})
    assert finished.rc == 2
    finished = play("site.yml", "--skip-tags", "verify", variables={"stack_refused_fields": ["a') -m found } { bad"]})
    assert finished.rc == 2
    assert "haproxy" in finished.message.lower(), finished.message
    assert CONFIG.read_text() == before
    assert play("site.yml", "--check").changed == 0
