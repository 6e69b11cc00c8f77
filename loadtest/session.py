"""Ties a workload to Locust's events: options, preflight, runs, reports and the exit code.

Locust logs and swallows what a listener raises, so everything that can be wrong is found at `init`, in the main
greenlet and before the web page or a user starts, and ends the process there: one line, exit code 2.
"""

from __future__ import annotations

import logging
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gevent
from locust.env import Environment
from locust.event import Events

from dock import catalog, settings
from dock.catalog import Model
from dock.errors import DockError
from loadtest.live import LiveRows, use_fine_buckets
from loadtest.options import Options, add_options, refuse_workers
from loadtest.preflight import Target, check_models, first_answer
from loadtest.records import ttft
from loadtest.report import check_places, environment_facts, save
from loadtest.run import Run
from loadtest.summary import EXIT_CODES, summarise
from loadtest.table import render
from loadtest.workload import Workload, load_config

log = logging.getLogger("locust.loadtest")

Prepare = Callable[[Model, dict[str, Any], Path | None, int | None], Workload]
"""Makes the requests: prepare(model, its load.yaml, --pages, --max-tokens)."""


class Session:
    """One locustfile's process: it may hold several runs, one after the other, when the web page is used."""

    def __init__(self, name: str, model: str, prepare: Prepare) -> None:
        self.name = name  # of the locustfile, for the report
        self.run: Run | None = None
        self.target: Target
        self._model = model
        self._prepare = prepare
        self._workload: Workload
        self._options: Options
        self._prepared_for: tuple[Options, str | None] | None = None
        self._cold_ttft: float | None = None
        self._summary: dict[str, Any] | None = None
        self._folder: Path | None = None
        self._interrupted = False
        self._out = sys.stdout

    def listen(self, events: Events) -> None:
        """Hook into Locust."""
        for hook, listener in (
            (events.init_command_line_parser, self._on_parser),
            (events.init, self._on_init),
            (events.test_start, self._on_test_start),
            (events.spawning_complete, self._on_spawning_complete),
            (events.test_stopping, self._on_test_stopping),
            (events.test_stop, self._on_test_stop),
            (events.quitting, self._on_quitting),
            (events.quit, self._on_quit),
        ):
            hook.add_listener(listener)  # type: ignore[no-untyped-call]

    def _on_parser(self, parser: ArgumentParser, **_: Any) -> None:
        add_options(parser, self._model)

    def _on_init(self, environment: Environment, **_: Any) -> None:
        use_fine_buckets()
        try:
            refuse_workers(_parsed(environment))
            # With Locust's --json, standard output is a JSON document and nothing else.
            self._out = sys.stderr if _parsed(environment).json else sys.stdout
            self._get_ready(environment)
        except DockError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(2)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted before the run\n")
            sys.exit(130)
        _interrupt_main_greenlet_only()

    def _on_test_start(self, environment: Environment, **_: Any) -> None:
        self.run = self._summary = None
        try:
            self._get_ready(environment)  # does nothing unless the web page's form changed something
        except DockError as error:
            log.error("no run: %s", error)  # users find no run to join and stop
            return
        self.run = Run(self._workload.order(self._options.seed), LiveRows(environment))

    def _on_spawning_complete(self, **_: Any) -> None:
        if self.run is not None:
            self.run.all_spawned()

    def _on_test_stopping(self, **_: Any) -> None:
        if self.run is not None:
            self.run.close()

    def _on_test_stop(self, environment: Environment, **_: Any) -> None:
        if self.run is None or self._summary is not None:
            return
        self.run.finish()
        self._summary = summarise(self.run.records, self.run.window) | {
            "interrupted": self._interrupted,
            "users": self.run.users,
            "cold_ttft_ms": None if self._cold_ttft is None else round(self._cold_ttft * 1000, 3),
            "setup": self._setup(environment),
        }
        try:
            self._folder = save(self._options, self.name, self._summary, self.run.records)
        except OSError as error:
            log.error("found no way to write the report (%s), need a writable --reports directory", error)

    def _on_quitting(self, environment: Environment, **_: Any) -> None:
        # After Ctrl-C Locust fixes the exit code before it stops the users, so a run still going ends here, at once.
        if self.run is not None and self._summary is None and environment.runner is not None:
            self._interrupted = True
            environment.stop_timeout = 0
            environment.runner.stop()
        if environment.process_exit_code is not None:
            return
        if self._summary is not None:
            environment.process_exit_code = 2 if self._folder is None else EXIT_CODES[self._summary["verdict"]]
        elif _parsed(environment).headless:
            environment.process_exit_code = 2  # no run came about

    def _on_quit(self, **_: Any) -> None:
        if self._summary is not None:
            self._out.write("\n".join(render(self._summary, self._folder)) + "\n")
            self._out.flush()

    def _get_ready(self, environment: Environment) -> None:
        options = Options.read(_parsed(environment))
        if self._prepared_for == (options, environment.host):
            return
        self._prepared_for = None
        check_places(options)
        installed = settings.load()
        model = catalog.find(options.model)
        environment.host = environment.host or installed.url
        self.target = Target(environment.host.rstrip("/"), model.name, options.key(installed))
        self._workload = self._prepare(model, load_config(model, installed), options.pages, options.max_tokens)
        check_models(self.target)
        self._cold_ttft = ttft(first_answer(self.target, self._workload.items[0]))
        self._options = options
        self._prepared_for = (options, environment.host)

    def _setup(self, environment: Environment) -> dict[str, Any]:
        parsed = _parsed(environment)
        return {
            "locustfile": self.name,
            "url": self.target.url,
            "model": self.target.model,
            "workload": self._workload.facts,
            "options": {name: str(value) for name, value in asdict(self._options).items() if value is not None},
            "spawn_rate": parsed.spawn_rate,
            "run_time_s": parsed.run_time,
            **environment_facts(),
        }


def _interrupt_main_greenlet_only() -> None:
    """Ctrl-C raises where Locust waits for it.

    By default it raises in whichever greenlet happens to run, and a traceback of that one is printed on the way.
    """
    main, loop = gevent.getcurrent(), gevent.get_hub().loop

    def throw() -> None:
        loop.run_callback(main.throw, KeyboardInterrupt)

    gevent.signal_handler(signal.SIGINT, throw)


def _parsed(environment: Environment) -> Namespace:
    parsed: Namespace | None = environment.parsed_options
    if parsed is None:
        raise TypeError("this session needs Locust's command line")
    return parsed
