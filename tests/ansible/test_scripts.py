"""The two shell scripts: scripts/bootstrap, and the pull that gives up early."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from dock.settings import ROOT

PULL = ROOT / "ansible/roles/images/files/pull"


def bash(script: Path, *arguments: str, **environment: str) -> tuple[int, str, float]:
    """Exit code, stderr and seconds of a script."""
    begin = time.monotonic()
    done = subprocess.run(
        ["bash", str(script), *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    return done.returncode, done.stderr, time.monotonic() - begin


def fake_docker(folder: Path, lines: str) -> str:
    """A fake docker client: a script, because no registry can be reached from a test."""
    path = folder / "docker"
    path.write_text(f"#!/usr/bin/env bash\n{lines}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("lines", "rc", "words", "seconds"),
    [
        ("echo '1: Pulling from a/b'; sleep 2; echo Status: done", 0, "", (2, 10)),
        ("echo 'Error response from daemon: no such host' >&2; exit 1", 1, "no such host", (0, 2)),
        ("echo '1: Pulling from a/b'; sleep 1; echo 'unexpected EOF'; exit 1", 1, "unexpected EOF", (1, 9)),
        ("exec sleep 100", 1, "no answer within 1 s", (1, 5)),
    ],
    ids=["a slow pull goes through", "refused at once", "broken off", "silence"],
)
def test_a_pull_gives_up_only_when_no_registry_answers(
    tmp_path: Path, lines: str, rc: int, words: str, seconds: tuple[float, float]
) -> None:
    """Patience is for the first word of the registry, not for the download."""
    code, said, took = bash(PULL, fake_docker(tmp_path, lines), "a/b:1", "1")
    assert code == rc
    assert words in said
    assert len(said.splitlines()) == (1 if rc else 0)
    assert seconds[0] <= took < seconds[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what bootstrap reads."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/bootstrap", tmp_path / "scripts/bootstrap")
    for name in ("requirements.txt", "requirements-dev.txt"):
        (tmp_path / name).write_text("")
    return tmp_path


def test_bootstrap_runs_once(checkout: Path) -> None:
    """A second run is over within a second; other requirements, or another place, make the environment anew."""
    script = checkout / "scripts/bootstrap"
    code, said, _ = bash(script)
    assert (code, "installing requirements.txt" in said) == (0, True), said
    code, said, seconds = bash(script)
    assert (code, said) == (0, "")
    assert seconds < 1
    (checkout / "requirements.txt").write_text("# changed\n")
    assert "installing requirements.txt" in bash(script)[1]
    assert "installing requirements-dev.txt" in bash(script, "dev")[1]
    assert bash(script)[:2] == (0, ""), "what fits the tests fits the verbs"
    moved = checkout.with_name("moved")
    checkout.rename(moved)
    assert "installing" in bash(moved / "scripts/bootstrap")[1]
    path = subprocess.run(
        [moved / ".venv/bin/python", "-c", "import sys; print(sys.path)"],
        check=True, capture_output=True, text=True, cwd="/",
    ).stdout  # fmt: skip
    assert str(moved) in path


def test_bootstrap_that_was_cut_off_is_completed(checkout: Path) -> None:
    """The stamp goes last."""
    script = checkout / "scripts/bootstrap"
    assert bash(script)[0] == 0
    (checkout / ".venv/ascend-dock.stamp").unlink()
    assert "installing" in bash(script)[1]
    (checkout / ".venv/bin/python").unlink()
    assert bash(script)[0] == 0
    assert (checkout / ".venv/bin/python").exists()


def test_bootstrap_says_in_one_line_what_is_wrong(checkout: Path) -> None:
    """An unknown argument, an index that does not answer, no Python."""
    script = checkout / "scripts/bootstrap"
    code, said, _ = bash(script, "devel")
    assert (code, said) == (2, "bootstrap: found argument devel, need none, or: dev\n")

    (checkout / "requirements.txt").write_text("no-such-distribution-of-ascend-dock==1\n")
    offline = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_FIND_LINKS": ""}
    code, said, _ = bash(script, **offline)
    assert code == 2
    assert "set PIP_INDEX_URL" in said.splitlines()[-1]
    assert not (checkout / ".venv/ascend-dock.stamp").exists()


def test_requirements_of_the_tests_contain_those_of_the_verbs() -> None:
    """Same versions, or `make test` would test something else than `make demo` runs."""

    def pins(name: str) -> set[str]:
        lines = (ROOT / name).read_text().splitlines()
        return {line.split("#")[0].strip() for line in lines} - {""}

    assert pins("requirements.txt") <= pins("requirements-dev.txt")
