"""What site.yml wrote about this installation: where the gateway is, and the keys for it.

`.env` at the repository root is Docker Compose's own file and the only place that says so; a variable of the same
name in the environment wins, as it does for Compose.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dock.errors import SettingsError

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Settings:
    """One installation, as `.env` describes it."""

    values: dict[str, str]
    root: Path = ROOT

    @property
    def url(self) -> str:
        """Base URL of the gateway, without a trailing slash and without `/v1`."""
        return self.get("DOCK_URL").rstrip("/")

    @property
    def target(self) -> str:
        """`cpu` or `npu`."""
        return self.get("TARGET")

    @property
    def models_dir(self) -> Path:
        """Directory that holds `<model>/<revision>/{source,ready,baseline}`."""
        return self.root / self.get("MODELS_DIR")

    def revision(self, model: str) -> str:
        """Revision of `model` that is served; raises SettingsError when none is."""
        return self.get(f"{model.upper().replace('-', '_')}_REVISION")

    def key(self, name: str) -> str:
        """The API key called `name` (`user`, `operator`), or SettingsError."""
        path = self.root / self.get("KEYS_DIR") / name
        try:
            return path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise SettingsError(f"found no key {path}, need the key {name!r}, do: ansible-playbook site.yml") from None
        except PermissionError:
            raise SettingsError(
                f"found {path} unreadable for this user, need read access, do: run as its owner, or give --key-file"
            ) from None

    def get(self, name: str) -> str:
        """The value of `name`, or SettingsError that says which command writes it."""
        value = os.environ.get(name) or self.values.get(name)
        if not value:
            raise SettingsError(f"found no {name} in {self.root / '.env'}, need it, do: ansible-playbook site.yml")
        return value


def load(root: Path = ROOT) -> Settings:
    """Read `<root>/.env` (KEY=value lines, # comments). A missing file gives empty settings."""
    path = root / ".env"
    values: dict[str, str] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            name, mark, value = line.partition("=")
            if mark and not name.lstrip().startswith("#"):
                values[name.strip()] = value.strip().strip("'\"")
    return Settings(values, root)
