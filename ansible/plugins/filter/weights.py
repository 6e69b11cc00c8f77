"""Whether a checkpoint is whole. Pure functions, tested by tables."""

from __future__ import annotations

from typing import Any


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
    return "manifest.json" in sizes and all(
        sizes.get(f"ready/{name}") == entry["size"] for name, entry in files.items()
    )


class FilterModule:
    """What plays may call."""

    def filters(self) -> dict[str, Any]:
        """Filter name to function."""
        return {
            "dock_weights_faults": weights_faults,
            "dock_weights_complete": weights_complete,
        }
