"""The filter plugins of the plays, loaded by path: `ansible` is also the name of an installed package."""

import importlib.util
from types import ModuleType

from dock.settings import ROOT


def load(name: str) -> ModuleType:
    """The module ansible/plugins/filter/<name>.py."""
    spec = importlib.util.spec_from_file_location(
        f"dock_filter_{name}", ROOT / "ansible" / "plugins" / "filter" / f"{name}.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
