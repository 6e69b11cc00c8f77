"""Is what this server gives right? Run from the repository root:

    python -m smoke lightonocr                 every check, all pages with known text
    python -m smoke lightonocr --quick         the demo page only; seconds, once the baseline is there
    python -m smoke lightonocr --only tokens   one check
    python -m smoke lightonocr --json          one JSON document on stdout; progress goes to stderr

The checks: `api` (the OpenAI contract, refusals included), `determinism` (equal token ids, run after run), `ocr`
(character error rate against known text, loops, truncation), `tokens` (ids against a float32 CPU baseline of the same
checkpoint, computed once inside the model's image; see smoke.compare). Limits and their reasons stand in
models/<model>/smoke.yaml. Reports: reports/smoke-<model>.html and .json.

Exit code: 0 all good, 1 something is wrong, 2 something could not be checked (one line on stderr says what).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from dock import catalog, settings
from dock.errors import DockError, InputError, SettingsError, Unreachable
from smoke import report
from smoke.checkpoint import Checkpoint
from smoke.checks import api, determinism, ocr, tokens
from smoke.client import HttpTransport, Server, check_key
from smoke.result import EXIT_CODES
from smoke.run import DEMO_PAGE, Check, Run, baseline_pages, load_corpus, require_plan, run_checks
from smoke.store import Baseline, Store, write_atomically

CHECKS: dict[str, Check] = {
    "api": api.check,
    "determinism": determinism.check,
    "ocr": ocr.check,
    "tokens": tokens.check,
}


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, print; the exit code."""
    options = _parser().parse_args(arguments)
    try:
        outcome = verify(options)
    except DockError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("found an interrupt, the run is incomplete and no report was written", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(outcome.as_dict(), ensure_ascii=False))
    else:
        print(report.table(outcome.results))
        print(report.closing(outcome))
    _say_reasons(outcome, also_failures=options.json)
    return EXIT_CODES[outcome.verdict]


def verify(options: argparse.Namespace) -> report.Outcome:
    """Run the checks against the server and write both reports; DockError when nothing can be checked at all."""
    model = catalog.find(options.model)
    plan = model.read("smoke")
    require_plan(plan, model.folder / "smoke.yaml")
    installation = settings.load()
    url = (options.url or installation.url).rstrip("/").removesuffix("/v1")
    user, operator = _keys(installation, options.key_file)
    corpus = load_corpus(model, plan)
    transport = HttpTransport(url)
    for key in dict.fromkeys((user, operator)):
        check_key(Server(transport, key), url)

    def checkpoint() -> Checkpoint:
        return Checkpoint(installation.models_dir / model.name / installation.revision(model.name) / "ready")

    def baseline() -> Baseline:
        image = installation.get(f"{model.name.upper().replace('-', '_')}_IMAGE")
        store = Store(checkpoint().folder.parent / "baseline", checkpoint(), image, _say)
        pages = baseline_pages(plan, corpus, model.folder / "smoke.yaml")
        return store.baseline(plan["baseline"], plan["max_tokens"], pages)

    run = Run(
        model=model.name,
        plan=plan,
        corpus=corpus,
        user=Server(transport, user),
        operator=Server(transport, operator),
        quick=options.quick,
        checkpoint=checkpoint,
        baseline=baseline,
        progress=_say,
    )
    results = run_checks(run, {options.only: CHECKS[options.only]} if options.only else CHECKS)
    try:
        read = run.read(DEMO_PAGE).text
    except Unreachable:
        read = None  # the checks have said why
    path = settings.ROOT / "reports" / f"smoke-{model.name}.html"
    outcome = report.Outcome(
        model=model.name,
        revision=_optional(installation, f"{model.name.upper().replace('-', '_')}_REVISION"),
        target=_optional(installation, "TARGET"),
        url=url,
        quick=options.quick,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        results=tuple(results),
        read=read,
        report=str(path.relative_to(settings.ROOT)),
    )
    write_atomically(path, report.page(outcome, corpus.pages[DEMO_PAGE], corpus.truths[DEMO_PAGE]))
    write_atomically(path.with_suffix(".json"), json.dumps(outcome.as_dict(), ensure_ascii=False, indent=1) + "\n")
    return outcome


def _keys(installation: settings.Settings, file: Path | None) -> tuple[str, str]:
    """The user's and the operator's key; the same one twice when the person names a file."""
    if file is None:
        return installation.key("user"), installation.key("operator")
    try:
        key = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"found no key in {file} ({error}), need a file with one line, the key") from None
    if not key or not key.isprintable() or " " in key:
        raise InputError(f"found no single key in {file}, need a file with one line, the key")
    return key, key


def _optional(installation: settings.Settings, name: str) -> str | None:
    try:
        return installation.get(name)
    except SettingsError:
        return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m smoke", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder of models/, e.g. lightonocr")
    parser.add_argument("--quick", action="store_true", help="read the demo page only")
    parser.add_argument("--only", choices=CHECKS, metavar="CHECK", help=f"one of: {', '.join(CHECKS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON document in place of the table")
    parser.add_argument("--url", help="another server's base URL (default: DOCK_URL of .env)")
    parser.add_argument(
        "--key-file", type=Path, help="file with the bearer key (default: the keys that .env points to)"
    )
    return parser


def _say_reasons(outcome: report.Outcome, *, also_failures: bool) -> None:
    """One line on stderr for what could not be checked; the table tells failures already, so only JSON needs those."""
    for result in outcome.results:
        for item in result.evidence:
            if item.verdict == "could-not-run":
                _say(f"{item.name}: {item.saw}")
            elif item.verdict == "fail" and also_failures:
                _say(f"{result.check}, {item.name}: saw {item.saw}, wanted {item.wanted}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends the run quietly
    sys.exit(main())
