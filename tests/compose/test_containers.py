"""What the containers really are, seen from Docker and from inside."""

from __future__ import annotations

import json
import os
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run

pytestmark = pytest.mark.usefixtures("stack")

NODES = ["davinci_manager", "devmm_svm", "hisi_hdc", *(f"davinci{chip}" for chip in range(4))]


def inspect(service: str) -> dict[str, Any]:
    """`docker inspect` of the one container of a service."""
    container = run("docker", "compose", "ps", "-q", service).stdout.strip()
    found: list[dict[str, Any]] = json.loads(run("docker", "inspect", container).stdout)
    return found[0]


def inside(service: str, script: str) -> str:
    """What a shell script prints inside a running service."""
    done = run("docker", "compose", "exec", "-T", service, "bash", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_engine_has_no_rights() -> None:
    """Non-root, read-only, no capability, no published port: as Docker reports it."""
    container = inspect("lightonocr")
    host = container["HostConfig"]
    assert container["Config"]["User"] == "1000:1000"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert not host["CapAdd"]
    assert host["Privileged"] is False
    assert not host["PortBindings"]
    assert not any(container["NetworkSettings"]["Ports"].values())


def test_engine_process_has_no_rights() -> None:
    """The same as the kernel sees it, from inside."""
    status = dict(
        line.split(":\t", 1) for line in inside("lightonocr", "cat /proc/1/status").splitlines() if ":\t" in line
    )
    assert int(status["CapEff"], 16) == 0
    assert int(status["CapBnd"], 16) == 0
    assert status["NoNewPrivs"] == "1"
    assert inside("lightonocr", "id -u").strip() == "1000"
    assert "read-only" in inside("lightonocr", "touch /etc/x 2>&1 || true").lower()
    assert "read-only" in inside("lightonocr", "touch /model/x 2>&1 || true").lower()


def test_engine_has_no_egress() -> None:
    """Its only network is internal, and its routing table holds no way out."""
    networks = list(inspect("lightonocr")["NetworkSettings"]["Networks"])
    assert networks == ["ascend-dock_engines"]
    assert json.loads(run("docker", "network", "inspect", *networks).stdout)[0]["Internal"] is True
    routes = [line.split()[1] for line in inside("lightonocr", "cat /proc/net/route").splitlines()[1:]]
    assert routes
    assert "00000000" not in routes


def test_gateway_is_published_on_loopback_only() -> None:
    """The one published port of the bundle."""
    bindings = inspect("gateway")["HostConfig"]["PortBindings"]
    assert [binding["HostIp"] for binding in bindings["8080/tcp"]] == ["127.0.0.1"]
    assert inspect("gateway")["Config"]["User"] == "65532:65532"


@pytest.fixture
def npu_root(tmp_path: Path) -> Path:
    """A fake NPU host: real device nodes (of the null device) made by mknod, and an empty driver tree."""
    (tmp_path / "dev").mkdir()
    for name in NODES:
        node = tmp_path / "dev" / name
        os.mknod(node, stat.S_IFCHR, os.makedev(1, 3))
        node.chmod(0o660)
        os.chown(node, 4321, 4321)
    for name in ("usr/local/Ascend/driver/lib64", "usr/local/dcmi", "usr/local/bin", "etc"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("usr/local/Ascend/driver/version.info", "usr/local/bin/npu-smi", "etc/ascend_install.info"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def project() -> Iterator[str]:
    """A Compose project of this test's own."""
    name = f"ascend-dock-test-{uuid.uuid4().hex[:8]}"
    yield name
    run("docker", "compose", "-p", name, "down", "--volumes")


def in_npu_container(project: str, root: Path, gid: str, script: str) -> str:
    """What a script prints in the lightonocr service under TARGET=npu with chip 2 asked for."""
    done = run(
        "docker", "compose", "-p", project, "run", "--rm", "--no-deps", "-T", "lightonocr", "bash", "-c", script,
        TARGET="npu", NPU_ROOT=str(root), NPU_CHIP="2", NPU_GID=gid, NPU_MEMLOCK=str(memlock_limit()),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def memlock_limit() -> int:
    """What this machine's daemon may give: -1 (as on an NPU host) needs a capability that not every machine grants."""
    limits = Path(f"/proc/{run('pgrep', '-x', 'dockerd').stdout.split()[0]}/limits").read_text()
    hard = next(line for line in limits.splitlines() if line.startswith("Max locked memory")).split()[4]
    return -1 if hard == "unlimited" else int(hard)


def test_exactly_the_asked_for_chip_is_inside(npu_root: Path, project: str) -> None:
    """Of four chips on the host, the container sees one, and the managers."""
    seen = in_npu_container(project, npu_root, "4321", "ls /dev").split()
    assert {name for name in seen if name in NODES} == {"davinci2", "davinci_manager", "devmm_svm", "hisi_hdc"}


@pytest.mark.parametrize(("gid", "answer"), [("4321", "opened"), ("4322", "refused")])
def test_the_nodes_open_for_their_group_only(npu_root: Path, project: str, gid: str, answer: str) -> None:
    """The gid that site.yml reads from the nodes is what lets uid 1000 in; another gid does not."""
    script = "exec 3<>/dev/davinci2 && echo opened || echo refused"
    assert in_npu_container(project, npu_root, gid, f"({script}) 2>/dev/null || echo refused").split()[-1] == answer
