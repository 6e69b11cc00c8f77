"""`ansible-playbook site.yml` on a machine that it has converged: nothing to do, and small changes done gently."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter

import pytest
import requests

from dock.settings import ROOT, Settings
from tests.ansible.playbook import assert_refused, play
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


def requests_until(stack: Settings, done: threading.Event, statuses: Counter[int]) -> None:
    """Ask for one token again and again."""
    while not done.is_set():
        answer = requests.post(
            f"{stack.url}/v1/chat/completions",
            json={"model": "lightonocr", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1},
            headers={"Authorization": f"Bearer {stack.key('user')}"},
            timeout=120,
        )
        statuses[answer.status_code] += 1


def test_a_changed_setting_reloads_the_gateway_and_nobody_notices(stack: Settings) -> None:
    """HAProxy takes the new configuration; its container goes on, and so do requests meanwhile, there and back."""
    before = gateway()
    done, statuses = threading.Event(), Counter[int]()
    client = threading.Thread(target=requests_until, args=(stack, done, statuses))
    client.start()
    try:
        finished = play("site.yml", "--tags", "stack", variables={"stack_engine_maxconn": 63})
        assert finished.rc == 0, finished.output
        assert "RUNNING HANDLER [stack : Reload the gateway]" in finished.output
        assert "maxconn 63" in CONFIG.read_text()
        assert gateway() == before
    finally:
        back = play("site.yml", "--tags", "stack")
        done.set()
        client.join()
    assert back.rc == 0, back.output
    assert "maxconn 64" in CONFIG.read_text()
    assert gateway() == before
    assert set(statuses) == {200}, statuses
    assert statuses[200] >= 5


@pytest.mark.usefixtures("stack")
def test_a_configuration_that_haproxy_refuses_replaces_nothing() -> None:
    """It is checked with the gateway's own image before the old one goes."""
    before = CONFIG.read_text()
    finished = play("site.yml", "--tags", "stack", variables={"stack_engine_maxconn": "many"})
    assert finished.rc == 2
    finished = play("site.yml", "--tags", "stack", variables={"stack_refused_fields": ["a') -m found } { bad"]})
    assert_refused(finished, "a gateway configuration that HAProxy refuses", "haproxy.cfg:")
    assert CONFIG.read_text() == before
    assert play("site.yml", "--check").changed == 0


LITTLE = {"preflight_disk_gib": dict.fromkeys(("packages", "base", "engine", "pulled", "model", "gateway", "state"), 0)}


@pytest.mark.usefixtures("stack")
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"images_engine_base": "127.0.0.1:9/nobody/engine:1"}, ["127.0.0.1:9/nobody/engine:1", "images_engine_base"]),
        ({"images_base": "nobody/base:1"}, ["no image nobody/base:1"]),
    ],
    ids=["an engine that no registry gives", "a base that is not here"],
)
def test_images_that_cannot_be_had_are_refused(variables: dict[str, str], words: list[str]) -> None:
    """Nothing is built or changed; a registry that does not answer is given up on within 10 s."""
    begin = time.monotonic()
    finished = play("site.yml", "--tags", "images", variables=LITTLE | variables)
    assert_refused(finished, *words)
    usual = time.monotonic()
    assert play("site.yml", "--tags", "images", variables=LITTLE).changed == 0
    assert usual - begin < time.monotonic() - usual + 10
