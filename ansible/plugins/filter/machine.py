"""What a machine is and has: target, package sources, free space, ports. Pure functions, tested by tables."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import Any


def target_of(nodes: list[str]) -> str:
    """`npu` when the names in /dev show an Ascend driver (davinci0, davinci_manager), else `cpu`."""
    return "npu" if any(re.fullmatch(r"davinci(\d+|_manager)", name) for name in nodes) else "cpu"


def suite_sources(index_targets: str, suite: str, wanted: str) -> list[dict[str, str]]:
    """Sources of Debian suite `wanted`, derived from the machine's own sources of `suite`.

    `index_targets`: lines `origin|codename|component|repository URI` that apt itself printed, so one-line and deb822
    source files, mirrors and comments are apt's business. Foreign repositories are left out by their origin. -updates
    and -security go along; empty when the machine has no source of `suite` itself.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for line in index_targets.splitlines():
        origin, codename, component, uri = (line.split("|") + [""] * 4)[:4]
        if origin == "Debian" and component == "main" and re.fullmatch(rf"{suite}(-updates|-security)?", codename):
            new = wanted + codename.removeprefix(suite)
            found[uri, new] = {"uri": uri, "suite": new}
    has_main = any(source["suite"] == wanted for source in found.values())
    return list(found.values()) if has_main else []


def new_packages(simulation: str) -> list[str]:
    """Packages that `apt-get install --simulate` would newly install; an upgrade has its old version in brackets."""
    return re.findall(r"^Inst (\S+) \(", simulation, flags=re.MULTILINE)


def disk_shortages(df: str, engine_action: str, plan: dict[str, Any], sizes: dict[str, float]) -> list[str]:
    """What is short of space, one phrase for each file system; [] when all fits.

    `df`: two lines "available bytes, mount point": of Docker's data, of the repository. `engine_action` and `plan`: as
    engine_decision and images_plan gave them. `sizes`: GiB of each kind of thing. Needs on one file system add up.
    """
    named = {"engine-cpu": "engine", "gateway": "gateway"}
    kinds = [named.get(target, "model") for target in plan["targets"]]
    kinds += [kind for kind, wanted in (("base", plan["base"]), ("pulled", plan["pull"])) if wanted]
    kinds += ["packages"] if engine_action == "install" else []
    docker = (
        sum(sizes[kind] for kind in kinds),
        "Docker's images" + (" while they are built" if "engine" in kinds else ""),
    )
    total: dict[str, dict[str, Any]] = {}
    for line, (gib, why) in zip(df.splitlines(), (docker, (sizes["state"], "state/")), strict=True):
        available, mount = line.split(maxsplit=1)
        entry = total.setdefault(mount, {"free": int(available) / 2**30, "gib": 0.0, "why": []})
        entry["gib"] += gib
        entry["why"] += [why] if gib else []
    return [
        f"{entry['free']:.1f} GiB free on {mount}, need {entry['gib']:g} GiB for {' and '.join(entry['why'])}"
        for mount, entry in total.items()
        if entry["free"] < entry["gib"]
    ]


def port_holder(proc_net_tcp: str, containers: str, address: str, port: int, project: str) -> str:
    """Who else holds `port`; '' when it is free or held by this project's own gateway.

    `proc_net_tcp`: /proc/net/tcp and tcp6. `containers`: JSON lines of `docker ps --format json`.
    """
    wanted = ipaddress.ip_address(address)
    ours = False
    for line in containers.splitlines():
        container = json.loads(line)
        if re.search(rf":{port}->", container["Ports"]):
            if f"com.docker.compose.project={project}" not in container["Labels"].split(","):
                return f"container {container['Names']}"
            ours = True
    if ours:
        return ""
    for line in proc_net_tcp.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
            other = _address(fields[1].rpartition(":")[0])
            if other == wanted or other.is_unspecified or wanted.is_unspecified:
                return f"a process that listens on {other}"
    return ""


def _address(words: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address as /proc/net/tcp writes it: hexadecimal, each 32-bit word in the machine's (little-endian) order."""
    data = b"".join(bytes.fromhex(words[start : start + 8])[::-1] for start in range(0, len(words), 8))
    address = ipaddress.ip_address(data)
    return getattr(address, "ipv4_mapped", None) or address


class FilterModule:
    """What plays may call."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_target_of": target_of,
            "dock_suite_sources": suite_sources,
            "dock_new_packages": new_packages,
            "dock_disk_shortages": disk_shortages,
            "dock_port_holder": port_holder,
        }
