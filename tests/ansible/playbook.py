"""Running the real ansible-playbook and reading what it said."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tests.conftest import run


@dataclass(frozen=True)
class Play:
    """One finished run on one host."""

    rc: int
    output: str

    @property
    def changed(self) -> int:
        """How many tasks changed something, by the recap."""
        match = re.search(r"changed=(\d+)", self.output)
        assert match, self.output
        return int(match.group(1))

    @property
    def message(self) -> str:
        """What the task that stopped the play said."""
        match = re.search(r"^fatal: \[localhost\]: FAILED! => (\{.*\})$", self.output, re.MULTILINE)
        assert match, self.output
        return str(json.loads(match.group(1))["msg"])


def play(path: str, *options: str, variables: dict[str, Any] | None = None, **environment: str) -> Play:
    """Run a playbook of the repository with extra variables and environment variables."""
    done = run(
        "ansible-playbook",
        path,
        *options,
        "--extra-vars",
        json.dumps(variables or {}),
        **{"ANSIBLE_CALLBACK_RESULT_FORMAT": "json", **environment},
    )
    return Play(done.returncode, done.stdout + done.stderr)


def assert_refused(finished: Play, *words: str) -> None:
    """Exit code 2, nothing changed, and one line that says what was found, what is needed and what to do."""
    assert finished.rc == 2, finished.output
    assert finished.changed == 0
    message = finished.message
    assert "\n" not in message
    assert message.startswith("found "), message
    assert re.search(r"\bneed ", message), message
    assert ", do: " in message, message
    for word in words:
        assert word in message, message
