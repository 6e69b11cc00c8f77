"""Run benches and write what they found: python -m bench [NAME...]

Each ratio is a median of at least 5 runs over the median of its peer's runs, taken in turns; low-high are the ratios of
single pairs of runs. Smaller is better, and a bench is met when its ratio is at most its goal.
Exit code: 0 all met, 1 a goal missed, 2 a bench could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.client import bench_client
from bench.core import RUNS, Result, progress, render
from bench.startup import bench_startup
from dock.errors import DockError

# Later benches are added here: name -> function of the number of runs.
BENCHES: dict[str, Callable[[int], list[Result]]] = {
    "startup": bench_startup,
    "client": bench_client,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse, run, write, print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which (default: all): {', '.join(BENCHES)}")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of each side, at least {RUNS} (default)")
    parser.add_argument("--output", type=Path, default=Path("reports/bench.json"), help="default: %(default)s")
    args = parser.parse_args(arguments)
    for name in args.names:
        if name not in BENCHES:
            parser.error(f"found no bench {name!r}, need one of: {', '.join(BENCHES)}")
    if args.runs < RUNS:
        parser.error(f"found --runs {args.runs}, need at least {RUNS} for a median with a spread")
    try:
        return run(args.names or list(BENCHES), args.runs, args.output)
    except KeyboardInterrupt:
        progress("interrupted, nothing written")
        return 130


def run(names: Sequence[str], runs: int, output: Path) -> int:
    """Run the benches `names`. One that cannot run does not keep the others from being run and written."""
    results: list[Result] = []
    broken = False
    for name in names:
        progress(f"{name}: {runs} runs of each side")
        try:
            results += BENCHES[name](runs)
        except DockError as error:
            sys.stderr.write(f"error: bench {name}: {error}\n")
            broken = True
    print("\n".join(render(results)))
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f".{output.name}.part")
    draft.write_text(json.dumps([result.as_dict() for result in results], indent=2) + "\n", encoding="utf-8")
    draft.replace(output)
    print(f"written: {output}")
    return 2 if broken else int(not all(result.met for result in results))


if __name__ == "__main__":
    sys.exit(main())
