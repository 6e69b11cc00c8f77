"""The served checkpoint on disk: its identity, and what its configuration says about images."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dock.errors import SettingsError


@dataclass(frozen=True)
class Checkpoint:
    """A prepared checkpoint folder, `MODELS_DIR/<model>/<revision>/ready`."""

    folder: Path

    def digests(self) -> dict[str, str]:
        """SHA-256 (hex) of every file, by path relative to the folder.

        The bytes themselves and not the manifest beside them: a file changed afterwards is another checkpoint.
        """
        files = sorted(path for path in self.folder.rglob("*") if path.is_file())
        if not any(path.suffix == ".safetensors" for path in files):
            raise SettingsError(f"found no checkpoint in {self.folder}, need one, do: ansible-playbook site.yml")
        return {str(path.relative_to(self.folder)): _sha256(path) for path in files}

    def image_token_id(self) -> int:
        """The id that stands for one image token in a prompt."""
        return self._number("config.json", "image_token_id")

    def image_tokens(self, width: int, height: int) -> int:
        """How many image tokens a page of `width` x `height` pixels takes.

        The page is shrunk (rounding down) until its longest side fits `longest_edge`, then each side is rounded up to
        a multiple of patch size x merge; one token stands for each such square. This is what vLLM 0.18 and
        transformers 4.57's PixtralProcessor do.
        """
        name = "processor_config.json"
        square = self._number(name, "patch_size") * self._number(name, "spatial_merge_size")
        longest = self._number(name, "image_processor", "size", "longest_edge")
        ratio = max(width / longest, height / longest)
        if ratio > 1:
            width, height = math.floor(width / ratio), math.floor(height / ratio)
        return math.ceil(width / square) * math.ceil(height / square)

    def _number(self, name: str, *keys: str) -> int:
        path = self.folder / name
        try:
            value: Any = json.loads(path.read_text(encoding="utf-8"))
            for key in keys:
                value = value[key]
            return int(value)
        except FileNotFoundError:
            raise SettingsError(f"found no {path}, need it, do: ansible-playbook site.yml") from None
        except (KeyError, TypeError, ValueError):
            raise SettingsError(f"found {path} without a number {'.'.join(keys)}, need the file as published") from None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
