"""The reader of `models/`: everything that is particular to one model is data in its folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dock.errors import SettingsError
from dock.settings import ROOT

MODELS = ROOT / "models"


@dataclass(frozen=True)
class Model:
    """One folder of `models/`. Each consumer reads its own file through `read`."""

    name: str
    folder: Path

    def read(self, consumer: str) -> dict[str, Any]:
        """The mapping in `<consumer>.yaml` (serve, weights, smoke, load), or SettingsError."""
        path = self.folder / f"{consumer}.yaml"
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SettingsError(f"found no {path}, need it to use the model {self.name!r}") from None
        except yaml.YAMLError as error:
            raise SettingsError(f"found {path} that is not YAML: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict):
            raise SettingsError(f"found {path} without a mapping at the top, need one")
        return data


def names(models: Path = MODELS) -> list[str]:
    """Names of all models, sorted."""
    return sorted(path.parent.name for path in models.glob("*/serve.yaml"))


def find(name: str, models: Path = MODELS) -> Model:
    """The model called `name`, or SettingsError that lists those there are."""
    if name not in names(models):
        raise SettingsError(f"found no model {name!r}, need one of: {', '.join(names(models))}")
    return Model(name, models / name)
