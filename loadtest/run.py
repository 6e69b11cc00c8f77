"""One run of the load: its records as they come in and its measuring window.

The window opens when all users are there and each has had its first answer, and closes when the run is told to stop,
before Locust begins to stop users. Users do not pause at its opening: a warm-up that drained first would start the
measured part with all users in step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from loadtest.client import clock
from loadtest.live import LiveRows
from loadtest.records import Record
from loadtest.summary import Window
from loadtest.workload import Item


class Run:
    """Shared by all users of one run. No locks: greenlets switch only where they wait."""

    def __init__(self, items: Iterator[Item], rows: LiveRows, now: Callable[[], float] = clock) -> None:
        self.records: list[Record] = []
        self.window = Window(None, None)
        self.users = 0
        self._items = items
        self._rows = rows
        self._now = now
        self._spawned = False
        self._answered: set[int] = set()

    def join(self) -> int:
        """A new user; its number."""
        self.users += 1
        return self.users

    def next_item(self) -> Item:
        """The next request of the common sequence."""
        return next(self._items)

    @property
    def measuring(self) -> bool:
        """A request sent now belongs to the figures."""
        return self.window.opened is not None and self.window.closed is None

    @property
    def warming_up(self) -> bool:
        """The window has not opened yet."""
        return self.window.opened is None

    def all_spawned(self) -> None:
        """Locust has started all users."""
        self._spawned = True
        self._open_when_ready()

    def add(self, record: Record, size: int) -> None:
        """Take in a finished request of `size` response bytes."""
        self.records.append(record)
        if not record.cut:
            window = self.window if self.window.closed is not None else replace(self.window, closed=self._now())
            self._rows.log(record, size, window)
        self._answered.add(record.user)
        self._open_when_ready()

    def close(self) -> None:
        """The run is told to stop. Requests in flight go on; they still count for latencies."""
        if self.window.closed is None:
            self.window = replace(self.window, closed=self._now())

    def finish(self) -> None:
        """All users have stopped."""
        self._rows.close(self.window)

    def _open_when_ready(self) -> None:
        ready = self._spawned and len(self._answered) == self.users > 0
        if ready and self.window == Window(None, None):
            self.window = Window(self._now(), None)
            self._rows.open()
