"""Which images are to be made, from checksums of what they are made of. Pure functions, tested by tables."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def images_plan(files: list[dict[str, Any]], inspected: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Which images are missing or made of something else than what lies in the repository now.

    `files`: path and sha256 `checksum` of everything that images may be made of. `inspected`: output of
    `docker image inspect`, or ''. `settings`: root, line, arch, target, models, base, foreign (engine image from
    elsewhere, '' to build one), label.

    Gives {base: the base image must be made, pull: engine image to pull or '', targets: bake targets in order,
    inputs: bake target to digest of its inputs}.
    """
    present = _present(inspected)
    foreign, base = _full(settings["foreign"]), _full(settings["base"])
    # An image from elsewhere counts with its id: the same tag may name another image after a pull.
    engine = f"{foreign} {present[foreign].get('Id')}" if foreign in present else foreign
    inputs = _inputs(files, settings, engine)
    labels = {tag: (image["Config"].get("Labels") or {}).get(settings["label"]) for tag, image in present.items()}
    line, target = settings["line"], settings["target"]
    tags = {name: f"ascend-dock/{name}:{line}-{target}" for name in settings["models"]} | {
        "gateway": f"ascend-dock/gateway:{line}"
    }
    targets = [name for name, tag in tags.items() if labels.get(tag) != inputs[name]]
    on_engine = any(name != "gateway" for name in targets)
    if on_engine and not foreign and labels.get(f"ascend-dock/engine-cpu:{line}") != inputs["engine-cpu"]:
        targets.insert(0, "engine-cpu")
    return {
        "base": base not in present and bool({"engine-cpu", "gateway"} & set(targets)),
        "pull": foreign if on_engine and foreign and foreign not in present else "",
        "targets": targets,
        "inputs": inputs,
    }


def _present(inspected: str) -> dict[str, dict[str, Any]]:
    """Tag, or name with digest, to what Docker says of that image."""
    images = json.loads(inspected) if inspected.strip().startswith("[") else []
    return {name: image for image in images for name in (image["RepoTags"] or []) + (image["RepoDigests"] or [])}


def _full(name: str) -> str:
    """An image's name as Docker completes it: without tag or digest it is `latest`."""
    return name if not name or ":" in name.rpartition("/")[2] or "@" in name else f"{name}:latest"


def _inputs(files: list[dict[str, Any]], settings: dict[str, Any], foreign: str) -> dict[str, str]:
    """Bake target to the digest of what it is made of; a model's contains its engine's, so a change is handed on."""
    line, arch, target = settings["line"], settings["arch"], settings["target"]
    sums = {str(file["path"]).removeprefix(settings["root"] + "/"): file["checksum"] for file in files}

    def digest(*parts: str, **facts: str) -> str:
        # A part that ends with a slash stands for everything below it.
        folders = tuple(part for part in parts if part.endswith("/"))
        chosen = {path: value for path, value in sums.items() if path in parts or path.startswith(folders)}
        text = json.dumps([chosen, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    bake = "images/docker-bake.hcl"
    requirements = f"ansible/lock/{line}.cpu-{arch}.txt"
    result = {
        "engine-cpu": digest(bake, "images/engine-cpu/", requirements, line=line, base=settings["base"]),
        "gateway": digest(bake, "images/gateway/", line=line, base=settings["base"]),
    }
    engine = foreign or result["engine-cpu"]
    for model in settings["models"]:
        serve = [f"models/{model}/serve.yaml", f"models/{model}/serve.{target}.yaml"]
        result[model] = digest(bake, "images/Dockerfile", "images/merge_serve.py", *serve, engine=engine, target=target)
    return result


class FilterModule:
    """What plays may call."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_images_plan": images_plan,
        }
