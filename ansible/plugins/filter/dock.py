"""Decisions of the plays as pure functions: data in, data out, tested by tables in tests/unit/test_ansible_*.py.

Roles read facts, call one of these, and act on the answer. Nothing here touches the machine.
"""

from __future__ import annotations

import json
import re
from typing import Any

Numbers = tuple[int, ...]


def version_of(text: str) -> Numbers:
    """The first dotted number in `text` as integers; () when there is none. `28.2.2+dfsg1` gives (28, 2, 2)."""
    match = re.search(r"\d+(?:\.\d+)+", text or "")
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def target_of(nodes: list[str]) -> str:
    """`npu` when the names in /dev show an Ascend driver (davinci0, davinci_manager), else `cpu`."""
    return "npu" if any(re.fullmatch(r"davinci(\d+|_manager)", name) for name in nodes) else "cpu"


def server_of(docker_version: str) -> str:
    """Version of the running engine out of `docker version --format json`; '' when only the client answered."""
    try:
        return str(((json.loads(docker_version) or {}).get("Server") or {}).get("Version") or "")
    except (json.JSONDecodeError, AttributeError):
        return ""


def engine_decision(host: dict[str, Any], minimum: dict[str, str], recipes: dict[str, Any]) -> dict[str, Any]:
    """What is to be done about the container engine.

    `host`: os ("debian 12"), root, docker_host, server, compose, buildx (version texts, '' when absent), denied (the
    engine runs but this user may not use it), dockerd (a daemon is installed), distro_engine (it is the OS's own package).
    `minimum`: docker, compose, buildx. `recipes`: OS to {packages, suite}.

    Gives {action, message, ...}: keep; start (installed, not running); install (with the recipe); refuse.
    """
    recipe = recipes.get(host["os"])
    low = [
        f"{name} {found or 'absent'}, need {minimum[key]} or newer"
        for key, name, found in (
            ("docker", "Docker Engine", host["server"]),
            ("compose", "Docker Compose", host["compose"]),
            ("buildx", "Docker Buildx", host["buildx"]),
        )
        if version_of(found) < version_of(minimum[key])
    ]
    if not low:
        return _answer("keep", f"Docker Engine {host['server']}, Compose {host['compose']}, Buildx {host['buildx']}")
    if host["denied"]:
        return _answer("refuse", "found a Docker engine that this user may not use, need root or the group docker, "
                                 "do: run as root, or add the user to the group and log in again")
    if host["server"]:
        return _too_old(host, low, recipe)
    if host["docker_host"]:
        return _answer("refuse", f"found DOCKER_HOST={host['docker_host']} where no engine answers, need a running one, "
                                 "do: start it, or unset DOCKER_HOST")
    if not host["root"]:
        return _answer("refuse", "found no running Docker engine, need root to install or start one, do: run as root, "
                                 "or have an administrator install Docker and add this user to the group docker")
    plugins_are_good = not any(line.startswith(("Docker Compose", "Docker Buildx")) for line in low)
    if host["dockerd"] and (plugins_are_good or not host["distro_engine"]):
        return _answer("start", "found a Docker engine that is installed but not running")
    if recipe:
        return _answer("install", f"found no running Docker engine on {host['os']}", recipe)
    return _answer("refuse", f"found no Docker engine and no tested way to install one on {host['os']}, need Docker Engine "
                             f"{minimum['docker']}, Compose {minimum['compose']} and Buildx {minimum['buildx']} or newer, "
                             "do: install them as your system's vendor says and run this again")


def _too_old(host: dict[str, Any], low: list[str], recipe: dict[str, Any] | None) -> dict[str, Any]:
    """A running engine is never replaced: it may serve somebody else. Missing plugins of our own package are added."""
    engine_is_good = not low[0].startswith("Docker Engine")
    if engine_is_good and host["distro_engine"] and recipe and host["root"]:
        return _answer("install", f"found {'; '.join(low)}", recipe)
    return _answer("refuse", f"found {'; '.join(low)}, do: upgrade it (a running engine is left alone, "
                             "because other containers may depend on it)")


def _answer(action: str, message: str, recipe: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"action": action, "message": message, **({"recipe": recipe} if recipe else {})}


def next_suite_sources(index_targets: str, suite: str, wanted: str) -> list[dict[str, str]]:
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


class FilterModule:
    """The functions above, by name, for use in plays."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_target_of": target_of,
            "dock_server_of": server_of,
            "dock_engine_decision": engine_decision,
            "dock_next_suite_sources": next_suite_sources,
        }
