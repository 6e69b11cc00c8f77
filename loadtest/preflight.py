"""Is there a server that will do what the load asks? Found out before any load is sent, and said in one line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from uuid import uuid4

from dock.errors import DockError, SettingsError, Unreachable
from loadtest.client import Connection, Endpoint, Exchange, HttpError
from loadtest.live import PATH
from loadtest.outcome import Ticket, refused, to_record
from loadtest.records import Record
from loadtest.workload import Item


@dataclass(frozen=True)
class Target:
    """A server, the model to ask and the key to ask with."""

    url: str
    model: str
    key: str

    @property
    def endpoint(self) -> Endpoint:
        """`url`, taken apart."""
        return Endpoint.parse(self.url)

    def headers(self) -> dict[str, str]:
        """The headers of every request; each has its own X-Request-Id, which the server's log shows too."""
        return {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "X-Request-Id": uuid4().hex,
        }


def check_models(target: Target) -> None:
    """GET /v1/models; raises Unreachable or SettingsError unless the server knows `target.model` and the key."""
    exchange = _ask(target, "GET", "/v1/models", b"")
    if exchange.status != 200:
        raise explain(target, exchange)
    try:
        served = [entry["id"] for entry in json.loads(exchange.body)["data"]]
    except (ValueError, TypeError, KeyError):
        raise Unreachable(f"found no list of models at {target.url}/v1/models, need an OpenAI-compatible API") from None
    if target.model not in served:
        raise Unreachable(
            f"found no model {target.model!r} at {target.url} (it serves: {', '.join(served) or 'none'}), need it, "
            f"do: docker compose up -d --wait {target.model}"
        )


def first_answer(target: Target, item: Item) -> Record:
    """Send one request alone, as the cold one that no figure contains; raises unless a whole answer comes."""
    exchange = _ask(target, "POST", PATH, item.body)
    if exchange.status != 200:
        raise explain(target, exchange)
    record = to_record(exchange, Ticket(user=0, page=item.name, request_id="first", warmup=True))
    if record.failure:
        raise Unreachable(f"found {record.failure}, need a streamed chat completion from {target.url}")
    return record


def explain(target: Target, exchange: Exchange) -> DockError:
    """The error for a response that refuses: what came, what is needed, what to do."""
    said = refused(exchange)
    if exchange.status == 401:
        return SettingsError(f"found the key refused by {target.url} ({said}), need a valid one, do: give --key-file")
    if exchange.status == 403:
        return SettingsError(
            f"found the key not allowed to ask for token ids ({said}), need scope `operator`, do: give --key-file"
        )
    if exchange.status == 503:
        return Unreachable(
            f"found no engine behind {target.url} ({said}), need one, do: docker compose up -d --wait {target.model}"
        )
    return Unreachable(f"found {said} at {target.url}, need an answer for model {target.model!r}")


def describe(error: OSError | HttpError) -> str:
    """One line for a broken exchange."""
    if isinstance(error, TimeoutError):
        return "timed out: no byte from the server"
    return f"connection failed: {error.strerror or error}" if isinstance(error, OSError) else str(error)


def _ask(target: Target, method: str, path: str, body: bytes) -> Exchange:
    exchange = Exchange()
    connection = Connection(target.endpoint)
    try:
        connection.exchange(exchange, target.endpoint.head(method, path, len(body), target.headers()), body)
    except (OSError, HttpError) as error:
        raise Unreachable(
            f"found no server at {target.url} ({describe(error)}), need a running one, "
            f"do: docker compose up -d --wait {target.model}"
        ) from None
    finally:
        connection.close()
    return exchange
