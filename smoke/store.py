"""Keeps CPU baselines: computed once inside the model's image, reused as long as nothing they depend on changes."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dock.errors import DockError, InputError, SettingsError
from dock.pages import Page
from dock.settings import ROOT
from smoke.baseline import MARK
from smoke.checkpoint import Checkpoint
from smoke.compare import PageBaseline, noise_floor

SCHEMA = 1
CODE = ("baseline.py", "reference.py")  # what runs in the image; changed code computes anew

Json = dict[str, Any]
Progress = Callable[[str], None]


class BaselineRefusedError(DockError):
    """The checkpoint does not fit the class, the processor or the image grid that smoke.yaml names."""


@dataclass(frozen=True)
class Baseline:
    """A stored baseline: its pages by name, the noise floor over all of them, and where it came from."""

    pages: dict[str, PageBaseline]
    floor: float
    path: Path
    kind: str  # class name
    made: Json


@dataclass(frozen=True)
class Store:
    """The baselines of one revision of one model: `folder` holds them, `image` computes them."""

    folder: Path
    checkpoint: Checkpoint
    image: str
    progress: Progress

    def baseline(self, spec: Json, max_tokens: int, pages: list[Page]) -> Baseline:
        """The baseline of `pages`, from disk when its key matches, else computed now (minutes for a large model).

        The key covers the checkpoint's bytes, the code that runs in the image, the versions of its libraries, `spec`,
        `max_tokens` and the pages' bytes. Raises BaselineRefusedError, SettingsError (no Docker, no image, not
        writable) or InputError (a stored file that is none).
        """
        made = {
            "schema": SCHEMA,
            "code": [hashlib.sha256((ROOT / "smoke" / name).read_bytes()).hexdigest() for name in CODE],
            "checkpoint": self.checkpoint.digests(),
            "versions": self._run(["--versions"], "")["versions"],
            "spec": spec,
            "max_tokens": max_tokens,
            "pages": {page.name: hashlib.sha256(page.data).hexdigest() for page in pages},
        }
        key = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()
        path = self.folder / f"{key[:16]}.json"
        if not path.exists():
            self.progress(f"no baseline yet for this checkpoint, image and page set: computing it with {self.image}")
            job = {
                "model": "/model",
                "spec": spec,
                "max_tokens": max_tokens,
                "pages": [{"name": page.name, "png": base64.b64encode(page.data).decode()} for page in pages],
            }
            write_atomically(path, json.dumps({"key": key, "made": made, **self._run([], json.dumps(job))}))
        return load(path, key)

    def _run(self, arguments: list[str], job: str) -> Json:
        """Run `smoke.baseline` in the image; its final record. Nothing is written in the container or by it."""
        record: Json = {}
        for record in records(self._lines([*docker_command(self.image, self.checkpoint.folder), *arguments], job)):
            if "progress" in record:
                self.progress(record["progress"])
        if "error" in record:
            raise BaselineRefusedError(f"found a checkpoint that has no baseline: {record['error']}")
        if not record or "progress" in record:
            raise SettingsError(
                f"found no answer from smoke.baseline in {self.image}, need it to finish, do: see above"
            )
        return record

    def _lines(self, command: list[str], job: str) -> Iterator[str]:
        with tempfile.TemporaryFile("w+") as work, tempfile.TemporaryFile("w+") as errors:
            work.write(job)
            work.seek(0)
            try:
                process = subprocess.Popen(command, stdin=work, stdout=subprocess.PIPE, stderr=errors, text=True)
            except FileNotFoundError:
                raise SettingsError(
                    "found no docker command, need it for the baseline, do: ansible-playbook site.yml"
                ) from None
            with process:
                try:
                    yield from process.stdout or ()
                except BaseException:
                    process.terminate()  # docker passes it on, and --init ends the container
                    raise
            if process.returncode:
                errors.seek(0)
                said = errors.read().strip().splitlines() or [f"exit code {process.returncode}"]
                raise SettingsError(
                    f"found that {self.image} cannot compute the baseline ({_cause(said)}), "
                    "need the image and a running Docker, do: ansible-playbook site.yml"
                )


def _cause(lines: list[str]) -> str:
    """The line that says what went wrong: docker's own error, which hints follow, or a traceback's last line."""
    return next((line for line in lines if line.startswith("docker:")), lines[-1]).strip()


def docker_command(image: str, ready: Path) -> list[str]:
    """The `docker run` of `smoke.baseline`: no network, no capability, no writable file but /tmp.

    The image's entry point stays in place (CANN's sets paths that torch needs).
    """
    bounds = "--network none --user 1000:1000 --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp"
    return [
        *["docker", "run", "--pull", "never", "--rm", "--init", "--interactive", *bounds.split()],
        *["--volume", f"{ready.resolve()}:/model:ro", "--volume", f"{ROOT / 'smoke'}:/opt/dock/smoke:ro"],
        *["--workdir", "/opt/dock", "--env", "HOME=/tmp", "--env", "USER=dock", "--env", "HF_HUB_OFFLINE=1"],
        *["--env", "PYTHONDONTWRITEBYTECODE=1"],
        # The baseline is the CPU's: do not let torch load torch-npu, which fails where no driver is mounted.
        *["--env", "TORCH_DEVICE_BACKEND_AUTOLOAD=0"],
        *[image, "python3", "-m", "smoke.baseline"],
    ]


def records(lines: Iterator[str]) -> Iterator[Json]:
    """The protocol's records among `lines`; anything else comes from the image's entry point."""
    for line in lines:
        if line.startswith(MARK):
            yield json.loads(line.removeprefix(MARK))


def load(path: Path, key: str) -> Baseline:
    """Read a stored baseline; InputError when it is not the one for `key`, or no baseline at all."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["key"] != key:
            raise ValueError("made for another checkpoint, image or page set")
        pages = [PageBaseline.from_dict(page) for page in data["pages"]]
        return Baseline({page.name: page for page in pages}, noise_floor(pages), path, data["class"], data["made"])
    except (OSError, KeyError, TypeError, ValueError, IndexError) as error:
        raise InputError(f"found {path} that is no baseline ({error}), need an intact one, do: delete it") from None


def write_atomically(path: Path, text: str) -> None:
    """Write `text` to `path` by way of a temporary file beside it, so that a reader sees all of it or nothing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise SettingsError(f"found {path.parent} not writable ({error.strerror}), need to write {path.name}") from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
