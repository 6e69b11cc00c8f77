"""What is to be done about the container engine. Pure functions, tested by a table."""

from __future__ import annotations

import json
import re
from typing import Any

PARTS = {"server": "docker", "compose": "compose", "buildx": "buildx"}
NAMES = {"server": "Docker Engine", "compose": "Docker Compose", "buildx": "Docker Buildx"}


def version_of(text: str) -> tuple[int, ...]:
    """The first dotted number in `text` as integers; () when there is none. `28.2.2+dfsg1` gives (28, 2, 2)."""
    match = re.search(r"\d+(?:\.\d+)+", text or "")
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def server_of(docker_version: str) -> str:
    """Version of the running engine out of `docker version --format json`; '' when only the client answered."""
    try:
        return str(((json.loads(docker_version) or {}).get("Server") or {}).get("Version") or "")
    except (json.JSONDecodeError, AttributeError):
        return ""


def engine_decision(host: dict[str, Any], minimum: dict[str, str], recipes: dict[str, Any]) -> dict[str, Any]:
    """What is to be done: {action, message, recipe}; the first case that applies decides.

    `host`: os ("debian 12"); root; docker_host; server, compose, buildx (version texts, '' when absent); denied (the
    engine runs, but this user may not use it); dockerd (path of an installed daemon, or ''); distro_engine (it is the
    OS's own package). `minimum`: docker, compose, buildx. `recipes`: OS to how its packages are installed.

    Actions: keep; start (installed, not running); install (as the recipe says); refuse. A running engine is never
    replaced, because it may serve somebody else; only missing plugins of the OS's own package are added to it.
    """
    recipe = recipes.get(host["os"])
    low = [part for part, key in PARTS.items() if version_of(host[part]) < version_of(minimum[key])]
    plugins_are_good = not {"compose", "buildx"} & set(low)
    found = "found " + ", ".join(f"{NAMES[part]} {host[part] or 'absent'}" for part in low)
    need = "need " + ", ".join(f"{NAMES[part]} {minimum[key]}" for part, key in PARTS.items()) + " or newer"
    cases = [
        (not low, "keep", "found an engine that fits the lock"),
        (
            host["denied"],
            "refuse",
            "found a Docker engine that this user may not use, need root or the group docker, "
            "do: run as root, or add the user to the group and log in again",
        ),
        (
            host["server"] and "server" not in low and host["distro_engine"] and recipe and host["root"],
            "install",
            f"{found}, {need}",
        ),
        (
            host["server"],
            "refuse",
            f"{found}, {need}, do: upgrade it, or remove it if nothing else uses it (a running engine is left alone)",
        ),
        (
            host["docker_host"],
            "refuse",
            f"found DOCKER_HOST={host['docker_host']} where no engine answers, need a running one, "
            "do: start it, or unset DOCKER_HOST",
        ),
        (
            not host["root"],
            "refuse",
            "found no running Docker engine, need root to install or start one, do: run as root, "
            "or have an administrator install Docker and add this user to the group docker",
        ),
        (
            host["dockerd"] and (plugins_are_good or not host["distro_engine"]),
            "start",
            "found a Docker engine that is installed but not running",
        ),
        (recipe, "install", f"found no running Docker engine on {host['os']}"),
        (
            True,
            "refuse",
            f"found no Docker engine and no tested way to install one on {host['os']}, {need}, "
            "do: install them as your system's vendor says and run this again",
        ),
    ]
    action, message = next((action, message) for applies, action, message in cases if applies)
    return {"action": action, "message": message, "recipe": recipe or {}}


class FilterModule:
    """What plays may call."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {"dock_server_of": server_of, "dock_engine_decision": engine_decision}
