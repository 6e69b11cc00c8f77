"""The load tests' own options beside Locust's, and Locust's defaults where ours are better."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path

from dock.errors import InputError, SettingsError
from dock.settings import Settings

DEFAULTS = {
    "num_users": 4,
    "spawn_rate": 2.0,
    "run_time": "30s",
    # Locust's 0 would cut every request in flight at the end and so drop the long ones.
    "stop_timeout": 120.0,
}


@dataclass(frozen=True)
class Options:
    """Our options, checked."""

    model: str
    pages: Path | None
    max_tokens: int | None
    seed: int
    key_file: Path | None
    reports: Path
    summary: Path | None

    @classmethod
    def read(cls, parsed: Namespace) -> Options:
        """From Locust's parsed options. Its web page turns every edited field into text, so types are set here."""
        return cls(
            model=str(parsed.model),
            pages=_path(parsed.pages),
            max_tokens=_whole("--max-tokens", parsed.max_tokens),
            seed=_whole("--seed", parsed.seed) or 0,
            key_file=_path(parsed.key_file),
            reports=Path(parsed.reports),
            summary=_path(parsed.summary),
        )

    def key(self, settings: Settings) -> str:
        """The bearer key: from --key-file, else the installation's operator key, which may ask for token ids."""
        if self.key_file is None:
            return settings.key("operator")
        try:
            key = self.key_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"found --key-file {self.key_file} unreadable ({error}), need one line") from None
        if not key or any(character.isspace() for character in key):
            raise SettingsError(f"found --key-file {self.key_file} without a single key, need one line")
        return key


def add_options(parser: ArgumentParser, model: str) -> None:
    """Add our options to Locust's parser; `model` is the one that this locustfile is for."""
    parser.set_defaults(**DEFAULTS)
    # Added to the parser itself, these appear in the web page's form too; those of the group stay on the command line.
    parser.add_argument("--pages", default="", metavar="PATH", help="PDF, PNG, JPEG or a directory (default: built in)")
    parser.add_argument("--max-tokens", default="", metavar="N", help="limit of an answer (default: the model's)")
    parser.add_argument("--seed", default="0", metavar="N", help="order of the pages (default: %(default)s)")
    group = parser.add_argument_group("Load test options")
    group.add_argument("--model", default=model, help="folder in models/ and served name (default: %(default)s)")
    group.add_argument("--key-file", default="", metavar="FILE", help="bearer key (default: the operator key)")
    group.add_argument("--reports", default="reports", metavar="DIR", help="where reports go (default: %(default)s)")
    group.add_argument("--summary", default="", metavar="FILE", help="write the summary as JSON there too")


def refuse_workers(parsed: Namespace) -> None:
    """Raw records are not merged between processes yet, and figures of a part would look like figures of all."""
    if parsed.processes or parsed.master or parsed.worker:
        raise InputError("found --processes, --master or --worker, need one process, do: leave these out")


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _whole(name: str, text: str | int | None) -> int | None:
    if text is None or text == "":
        return None
    try:
        return int(text)
    except ValueError:
        raise InputError(f"found {name} {text}, need a whole number") from None
