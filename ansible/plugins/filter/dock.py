"""Decisions of the plays as pure functions: data in, data out, tested by tables in tests/unit/test_ansible_*.py.

Roles read facts, call one of these, and act on the answer. Nothing here touches the machine.
"""

from __future__ import annotations

import hashlib
import ipaddress
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
    return re.findall(r"^Inst (\S+) \((?!.*\] \()", simulation, flags=re.MULTILINE)


def images_plan(files: list[dict[str, Any]], inspected: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Which images are missing or made of something else than what lies in the repository now.

    `files`: path and sha256 `checksum` of everything that images may be made of. `inspected`: output of
    `docker image inspect`, or ''. `settings`: root, line, arch, target, models, base, foreign (engine image from
    elsewhere, '' to build one), label.

    Gives {base: the base image must be made, pull: engine image to pull or '', targets: bake targets in order,
    inputs: bake target to digest of its inputs}.
    """
    present = _present(inspected, settings["label"])
    inputs = _inputs(files, settings)
    line, target = settings["line"], settings["target"]
    tags = {name: f"ascend-dock/{name}:{line}-{target}" for name in settings["models"]} | {
        "gateway": f"ascend-dock/gateway:{line}"
    }
    targets = [name for name, tag in tags.items() if present.get(tag) != inputs[name]]
    on_engine = any(name != "gateway" for name in targets)
    foreign = settings["foreign"]
    if on_engine and not foreign and present.get(f"ascend-dock/engine-cpu:{line}") != inputs["engine-cpu"]:
        targets.insert(0, "engine-cpu")
    return {
        "base": settings["base"] not in present and bool({"engine-cpu", "gateway"} & set(targets)),
        "pull": foreign if on_engine and foreign and foreign not in present else "",
        "targets": targets,
        "inputs": inputs,
    }


def _present(inspected: str, label: str) -> dict[str, str]:
    """Tag to the digest of inputs in its label ('' without a label)."""
    images = json.loads(inspected) if inspected.strip().startswith("[") else []
    return {
        tag: ((image.get("Config") or {}).get("Labels") or {}).get(label, "")
        for image in images
        for tag in image.get("RepoTags") or []
    }


def _inputs(files: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, str]:
    """Bake target to the digest of what it is made of; a model's contains its engine's, so a change is handed on."""
    line, arch, target = settings["line"], settings["arch"], settings["target"]
    sums = {str(file["path"]).removeprefix(settings["root"] + "/"): file["checksum"] for file in files}

    def digest(*parts: str, **facts: str) -> str:
        # A part that ends with a slash stands for the whole directory.
        chosen = {path: sums[path] for path in sums for part in parts if path == part or part[-1] == "/" and path.startswith(part)}
        text = json.dumps([chosen, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    bake = "images/docker-bake.hcl"
    requirements = f"ansible/lock/{line}.cpu-{arch}.txt"
    result = {
        "engine-cpu": digest(bake, "images/engine-cpu/", requirements, line=line, base=settings["base"]),
        "gateway": digest(bake, "images/gateway/", line=line, base=settings["base"]),
    }
    engine = settings["foreign"] or result["engine-cpu"]
    for model in settings["models"]:
        serve = [f"models/{model}/serve.yaml", f"models/{model}/serve.{target}.yaml"]
        result[model] = digest(bake, "images/Dockerfile", "images/merge_serve.py", *serve, engine=engine, target=target)
    return result


def weights_faults(sums: list[dict[str, Any]], files: dict[str, Any]) -> list[str]:
    """What is wrong with a source of weights. `sums`: stat results with sha256; `files`: the manifest's."""
    faults = []
    for entry in sums:
        name, stat = entry["item"], entry["stat"]
        if not stat["exists"]:
            faults.append(f"{name} missing")
        elif stat["checksum"] != files[name]["sha256"] or stat["size"] != files[name]["size"]:
            faults.append(f"{name} damaged (sha256 {stat['checksum'][:12]}, need {files[name]['sha256'][:12]})")
    return faults


def weights_complete(found: list[dict[str, Any]], place: str, files: dict[str, Any]) -> bool:
    """Whether a checkpoint lies in `place` whole: the marker is there, and every file has the manifest's size.

    Sums are checked when files are placed; at each later run sizes do, because checkpoints are gigabytes.
    """
    sizes = {str(file["path"]).removeprefix(place + "/"): file.get("size") for file in found}
    return "manifest.json" in sizes and all(sizes.get(f"ready/{name}") == entry["size"] for name, entry in files.items())


VERDICTS = {0: "good", 1: "WRONG", 2: "not checked"}


def verdicts(results: list[dict[str, Any]]) -> list[dict[str, str]]:
    """{model, verdict, why} for each run of smoke: its `item`, exit code `rc`, `stdout` (one JSON document), `stderr`."""
    return [
        {"model": run["item"], "verdict": VERDICTS[min(run["rc"], 2)], "why": _why(run) if run["rc"] else ""}
        for run in results
    ]


def _why(run: dict[str, Any]) -> str:
    try:
        checks = json.loads(run["stdout"])["checks"]
    except (json.JSONDecodeError, KeyError):
        lines = str(run.get("stderr") or run.get("msg") or "").strip().splitlines()
        return lines[-1] if lines else f"exit code {run['rc']}"
    bad = [item for check in checks for item in check["evidence"] if item["verdict"] != "pass"]
    return "; ".join(f"{item['name']}: {item['saw']}" for item in bad)


def result_table(found: list[dict[str, str]], env: str) -> list[str]:
    """The lines that a run of site.yml ends with. `found`: of `verdicts`. `env`: text of .env."""
    values = dict(line.split("=", 1) for line in env.splitlines() if "=" in line and not line.startswith("#"))
    rows = [("model", "target", "URL", "key", "verdict")] + [
        (entry["model"], values["TARGET"], values["DOCK_URL"], f"cat {values['KEYS_DIR']}/user", entry["verdict"])
        for entry in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def disk_shortages(df: str, engine_action: str, plan: dict[str, Any], sizes: dict[str, float]) -> list[str]:
    """What is short of space, one phrase for each file system; [] when all fits.

    `df`: two lines "available bytes, mount point": of Docker's data, of the repository. `engine_action` and `plan`: as
    engine_decision and images_plan gave them. `sizes`: GiB of each kind of thing. Needs on one file system add up.
    """
    named = {"engine-cpu": "engine", "gateway": "gateway"}
    kinds = [named.get(target, "model") for target in plan["targets"]]
    kinds += [kind for kind, wanted in (("base", plan["base"]), ("pulled", plan["pull"])) if wanted]
    kinds += ["packages"] if engine_action == "install" else []
    docker = (sum(sizes[kind] for kind in kinds), "Docker's images" + (" while they are built" if "engine" in kinds else ""))
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
    """The functions above, by name, for use in plays."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_target_of": target_of,
            "dock_server_of": server_of,
            "dock_engine_decision": engine_decision,
            "dock_suite_sources": suite_sources,
            "dock_new_packages": new_packages,
            "dock_images_plan": images_plan,
            "dock_weights_faults": weights_faults,
            "dock_weights_complete": weights_complete,
            "dock_verdicts": verdicts,
            "dock_table": result_table,
            "dock_disk_shortages": disk_shortages,
            "dock_port_holder": port_holder,
        }
