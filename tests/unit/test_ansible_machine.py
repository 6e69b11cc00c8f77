"""What the plays conclude from device nodes, package sources, free space and listeners."""

import json
from typing import Any

import pytest
from ansible_filters import load

machine = load("machine")


@pytest.mark.parametrize(
    ("nodes", "target"),
    [
        ([], "cpu"),
        (["davinci0"], "npu"),
        (["davinci15", "davinci_manager"], "npu"),
        (["davinci_manager"], "npu"),
        (["davinci"], "cpu"),
        (["davinci0.old", "not_davinci0"], "cpu"),
    ],
)
def test_the_target_is_what_the_driver_made(nodes: list[str], target: str) -> None:
    """Only the names that the driver gives count."""
    assert machine.target_of(nodes) == target


MIRROR = "http://mirror.example/debian/"
SECURITY = "http://mirror.example/security/"
INDEX = "\n".join(
    [
        f"Debian|bookworm|main|{MIRROR}",
        f"Debian|bookworm|contrib|{MIRROR}",
        f"Debian|bookworm-updates|main|{MIRROR}",
        f"Debian|bookworm-security|main|{SECURITY}",
        f"Debian|bookworm-backports|main|{MIRROR}",
        "Vendor|bookworm|main|http://vendor.example/debian/",
        "|nodistro|main|http://unreachable.example/",
    ]
)


def test_sources_of_the_next_release_come_from_the_machines_own() -> None:
    """Main, updates and security move on; components, backports and foreign repositories stay out."""
    assert machine.suite_sources(INDEX, "bookworm", "trixie") == [
        {"uri": MIRROR, "suite": "trixie"},
        {"uri": MIRROR, "suite": "trixie-updates"},
        {"uri": SECURITY, "suite": "trixie-security"},
    ]


@pytest.mark.parametrize(
    "index",
    ["", "Ubuntu|noble|main|http://x/", f"Debian|bookworm-security|main|{SECURITY}", f"|bookworm|main|{MIRROR}"],
)
def test_no_debian_source_gives_none(index: str) -> None:
    """Without the release's main archive (or its signed name) nothing can be derived."""
    assert machine.suite_sources(index, "bookworm", "trixie") == []


def test_only_new_packages_are_remembered() -> None:
    """An upgraded package was there before, so uninstall must not take it away."""
    simulation = (
        "NOTE: only a simulation\n"
        "Inst runc (1.1.5+ds1-1+deb12u1 Debian:12/oldstable [amd64])\n"
        "Inst libc6 [2.36-9+deb12u14] (2.41-12 Debian:13/stable [amd64])\n"
        "Inst docker.io (26.1.5 Debian:13/stable [amd64]) []\n"
        "Conf runc (1.1.5+ds1-1+deb12u1 Debian:12/oldstable [amd64])\n"
    )
    assert machine.new_packages(simulation) == ["runc", "docker.io"]


SIZES = {"packages": 1, "base": 1, "engine": 22, "pulled": 40, "model": 1, "gateway": 1, "state": 1}
NOTHING: dict[str, Any] = {"base": False, "pull": "", "targets": []}
COLD: dict[str, Any] = {"base": True, "pull": "", "targets": ["engine-cpu", "lightonocr", "gateway"]}
NPU: dict[str, Any] = {"base": True, "pull": "x:1", "targets": ["lightonocr", "gateway"]}


def df(docker: float, repo: float, *, one: bool = True) -> str:
    """What df prints for GiB free at Docker's data and at the repository, on one file system or two."""
    return f"{int(docker * 2**30)} /\n{int(repo * 2**30)} {'/' if one else '/home/some one'}"


@pytest.mark.parametrize(
    ("free", "action", "plan", "short"),
    [
        (df(26.9, 26.9), "install", COLD, "27 GiB"),
        (df(27.1, 27.1), "install", COLD, ""),
        (df(26.1, 26.1), "keep", COLD, ""),
        (df(26.1, 0.5, one=False), "keep", COLD, "0.5 GiB free on /home/some one, need 1 GiB"),
        (df(24, 100, one=False), "keep", COLD, "24.0 GiB free on /, need 25 GiB for Docker's images while they"),
        (df(1.1, 1.1), "keep", NOTHING, ""),
        (df(0.9, 0.9), "keep", NOTHING, "need 1 GiB for state/"),
        (df(43, 43), "keep", NPU, "need 44 GiB"),
    ],
)
def test_disk_space_counts_what_is_missing(free: str, action: str, plan: dict[str, Any], short: str) -> None:
    """Needs on one file system add up; what is there already needs nothing."""
    shortages = machine.disk_shortages(free, action, plan, SIZES)
    assert bool(shortages) == bool(short)
    assert short in "".join(shortages)


HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LOOPBACK = HEADER + "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 20 1\n"
WILDCARD = HEADER + "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 20 1\n"
OTHER = HEADER + "   0: 0200A8C0:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 20 1\n"
CONNECTED = HEADER + "   0: 0100007F:1F90 0100007F:A000 01 00000000:00000000 00:00000000 00000000 0 0 20 1\n"
WILDCARD6 = HEADER + f"   0: {'0' * 32}:1F90 {'0' * 32}:0000 0A 00000000:00000000 00:00000000 00000000 0 0 20 1\n"
MAPPED = HEADER + f"   0: 0000000000000000FFFF00000100007F:1F90 {'0' * 32}:0000 0A 0:0 00:0 0 0 0 20 1\n"


def container(name: str, project: str, ports: str) -> str:
    """One line of `docker ps --format json`, as far as it is read."""
    labels = f"a=b,com.docker.compose.project={project},com.docker.compose.service=gateway"
    return json.dumps({"Names": name, "Labels": labels, "Ports": ports})


OURS = container("ascend-dock-gateway-1", "ascend-dock", "127.0.0.1:8080->8080/tcp")
THEIRS = container("web-1", "web", "0.0.0.0:8080->80/tcp, :::8080->80/tcp")
ELSEWHERE = container("web-1", "web", "0.0.0.0:18080->8080/tcp")


@pytest.mark.parametrize(
    ("listeners", "containers", "holder"),
    [
        ("", "", ""),
        (HEADER, ELSEWHERE, ""),
        (LOOPBACK, "", "127.0.0.1"),
        (WILDCARD, "", "0.0.0.0"),
        (WILDCARD6, "", "::"),
        (MAPPED, "", "127.0.0.1"),
        (OTHER, "", ""),
        (CONNECTED, "", ""),
        (LOOPBACK, OURS, ""),
        ("", THEIRS, "container web-1"),
        (WILDCARD, f"{ELSEWHERE}\n{THEIRS}", "container web-1"),
    ],
)
def test_who_holds_the_port(listeners: str, containers: str, holder: str) -> None:
    """A listener or a foreign container holds it; our own gateway, other addresses and open connections do not."""
    found = machine.port_holder(listeners, containers, "127.0.0.1", 8080, "ascend-dock")
    assert bool(found) == bool(holder), found
    assert holder in found


def test_another_project_of_ours_is_another() -> None:
    """Two checkouts on one machine run under two project names."""
    assert machine.port_holder("", OURS, "127.0.0.1", 8080, "second") == "container ascend-dock-gateway-1"
