"""A Locust user that sends one prepared request after the other and streams each answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import gevent
from gevent import GreenletExit
from locust import User, task
from locust.exception import StopUser

from loadtest.client import Connection, Exchange, HttpError
from loadtest.live import PATH
from loadtest.outcome import Ticket, to_record
from loadtest.preflight import describe
from loadtest.records import CUT

if TYPE_CHECKING:
    from loadtest.run import Run
    from loadtest.session import Session

PAUSE_AFTER_FAILURE = 1.0  # s; a server that refuses at once must not be asked a thousand times a second


class StreamUser(User):
    """Closed loop: the next request leaves when the last answer has ended. A locustfile gives it its session."""

    abstract = True
    session: ClassVar[Session]
    _run: Run | None = None

    def on_start(self) -> None:
        """Join the run that Locust has just started."""
        self._run = self.session.run
        if self._run is not None:
            self._number = self._run.join()
            self._connection = Connection(self.session.target.endpoint)

    def on_stop(self) -> None:
        """Give the connection back."""
        if self._run is not None:
            self._connection.close()

    @task
    def ask(self) -> None:
        """One request, one record."""
        if self._run is None:  # its preparation failed, which the session has said
            raise StopUser
        item = self._run.next_item()
        headers = self.session.target.headers()
        head = self._connection.endpoint.head("POST", PATH, len(item.body), headers)
        ticket = Ticket(self._number, item.name, headers["X-Request-Id"], warmup=self._run.warming_up)
        exchange = Exchange()
        fault = ""
        try:
            try:
                self._connection.exchange(exchange, head, item.body)
            except (OSError, HttpError) as error:
                fault = describe(error)
            record = to_record(exchange, ticket, fault, breathe=lambda: gevent.sleep(0))
        except GreenletExit:  # Locust stops users that are still busy after --stop-timeout
            self._run.add(to_record(exchange, ticket, CUT), 0)
            raise
        self._run.add(record, sum(len(piece) for _, piece in exchange.pieces))
        if record.failure:
            gevent.sleep(PAUSE_AFTER_FAILURE)
