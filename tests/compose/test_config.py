"""What the Compose files say, for both targets: hardening, the one published port, the devices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dock import catalog
from dock.settings import ROOT
from tests.conftest import run

# Compose itself comes with the stack on a machine that had none.
pytestmark = pytest.mark.usefixtures("stack")

VARIABLES = {
    "LIGHTONOCR_IMAGE": "example/lightonocr:1",
    "LIGHTONOCR_REVISION": "r1",
    "GATEWAY_IMAGE": "example/gateway:1",
    "GATEWAY_DIR": "./state/gateway",
    "MODELS_DIR": "./state/models",
}
# Newer keys are accepted and then ignored by Compose 2.26 (post_start, gpus), so only what was seen to act is used.
KEYS = {
    "cap_drop", "depends_on", "devices", "environment", "extends", "group_add", "healthcheck", "image", "init",
    "logging", "mem_limit", "networks", "pids_limit", "ports", "pull_policy", "read_only", "restart", "security_opt",
    "shm_size", "stop_grace_period", "tmpfs", "ulimits", "user", "volumes",
}  # fmt: skip


def config(target: str, **variables: str) -> dict[str, Any]:
    """The resolved configuration, with no .env of this machine in it."""
    done = run(
        "docker", "compose", "--env-file", "/dev/null", "config", "--format", "json",
        **(VARIABLES | {"TARGET": target} | variables),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    resolved: dict[str, Any] = json.loads(done.stdout)
    return resolved


@pytest.fixture(params=["cpu", "npu"])
def resolved(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The configuration of each target."""
    return config(request.param)


def test_every_model_is_a_service(resolved: dict[str, Any]) -> None:
    """A folder in models/ and a Compose service of its name belong together."""
    assert set(resolved["services"]) == {"gateway", *catalog.names()}


def test_only_the_gateway_is_published_and_on_loopback(resolved: dict[str, Any]) -> None:
    """No engine has a port; the gateway's is bound to 127.0.0.1."""
    for name, service in resolved["services"].items():
        ports = service.get("ports", [])
        assert [port["host_ip"] for port in ports] == (["127.0.0.1"] if name == "gateway" else [])


def test_engines_are_hardened_and_shut_in(resolved: dict[str, Any]) -> None:
    """No root, no writable file system, no capability, no way out."""
    assert resolved["networks"]["engines"]["internal"] is True
    for name in catalog.names():
        service = resolved["services"][name]
        assert service["user"].split(":")[0] not in {"0", "root"}
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert list(service["networks"]) == ["engines"]
        assert not {"privileged", "network_mode", "ipc", "pid", "cap_add"} & set(service)
        assert service["entrypoint"] is None
        assert all(volume["read_only"] for volume in service["volumes"])
        assert not any("docker.sock" in volume["source"] for volume in service["volumes"])


def test_engine_outlives_its_own_shutdown_timeout(resolved: dict[str, Any]) -> None:
    """Docker must not kill the engine while it still finishes requests."""
    for name in catalog.names():
        grace = resolved["services"][name]["stop_grace_period"]
        assert grace == "1m15s"
        assert catalog.find(name).read("serve")["shutdown-timeout"] < 75


def test_npu_target_mounts_one_chip_and_sets_no_visible_devices() -> None:
    """Exactly the asked-for chip and the three manager nodes; the driver's files read-only."""
    service = config("npu", NPU_CHIP="5")["services"]["lightonocr"]
    assert [device["source"] for device in service["devices"]] == [
        "/dev/davinci5",
        "/dev/davinci_manager",
        "/dev/devmm_svm",
        "/dev/hisi_hdc",
    ]
    assert not [name for name in service["environment"] if "VISIBLE_DEVICES" in name]


def test_cpu_target_has_no_device() -> None:
    """The stub of one target brings nothing of the other."""
    assert "devices" not in config("cpu")["services"]["lightonocr"]


@pytest.mark.parametrize("missing", ["TARGET", "LIGHTONOCR_IMAGE", "GATEWAY_IMAGE"])
def test_missing_settings_name_the_command_that_writes_them(missing: str) -> None:
    """Without .env, one line says what to run."""
    values = VARIABLES | {"TARGET": "cpu", missing: ""}
    done = run("docker", "compose", "--env-file", "/dev/null", "config", **values)
    assert done.returncode != 0
    assert "ansible-playbook site.yml" in done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "compose").glob("*.yaml")), ids=lambda path: path.name)
def test_only_keys_that_act_are_used(path: Path) -> None:
    """An accepted key may still be without effect; the list above is what was seen to act."""
    for service in yaml.safe_load(path.read_text())["services"].values():
        assert set(service) <= KEYS
