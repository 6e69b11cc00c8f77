"""What the tests share: the running stack, made by the product's own playbook, once a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dock import settings
from dock.settings import ROOT, Settings

SOAK = os.environ.get("SOAK") == "1"
BIN = Path(sys.executable).parent


def run(*command: str | Path, timeout: float = 1800, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command from the repository root as a person in an activated .venv would."""
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1"} | variables
    return subprocess.run(
        [str(part) for part in command],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture(scope="session")
def stack() -> Settings:
    """The stack, up and verified by `ansible-playbook site.yml`."""
    done = run("ansible-playbook", "site.yml")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return settings.load()


@pytest.fixture(scope="session")
def sample_size() -> float:
    """Factor by which a test enlarges its sample: 1 in `make test`, 10 in `make soak`."""
    return 10 if SOAK else 1
