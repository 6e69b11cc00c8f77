"""`python -m standins <verb> lightonocr`: make, train and measure the stand-in checkpoint.

    pages       write models/lightonocr/pages/standin.pdf and .json
    untrained   write the checkpoint with random weights (same layout; answers with noise)
    train       train it, on two CPU cores about an hour and a half; resumes; writes the checkpoint and its log
    export      write the checkpoint from a training state, also while training runs
    evaluate    CER on a test set of pages whose words training never saw

`untrained`, `train`, `export` and `evaluate` need the packages in standins/requirements.txt.
Exit codes: 0 good, 1 CER above the goal, 2 could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dock.errors import DockError, InputError
from dock.settings import ROOT

MODELS = ("lightonocr",)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="python -m standins", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = top.add_subparsers(dest="verb", required=True)
    for verb in ("pages", "untrained", "train", "export", "evaluate"):
        sub = verbs.add_parser(verb)
        sub.add_argument("model", choices=MODELS)
        if verb in ("train", "export"):
            sub.add_argument(
                "--state", type=Path, default=ROOT / "state" / "standin-training.pt", help="training state"
            )
        if verb in ("train", "evaluate"):
            sub.add_argument("--threads", type=int, default=2, help="CPU threads (default 2)")
        if verb == "evaluate":
            sub.add_argument("--pages", type=int, default=200, help="size of the test set (default 200)")
            sub.add_argument("--checkpoint", type=Path, help="folder (default: the committed one)")
            sub.add_argument("--bf16", action="store_true", help="BF16 arithmetic, as the engine's, instead of float32")
            sub.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return top


def evaluate(options: argparse.Namespace, folder: Path) -> int:
    """Print the scores; 1 when the CER over all pages is above the goal."""
    from standins.evaluate import GOAL, evaluate

    if options.pages < 1:
        raise InputError(f"found --pages {options.pages}, need at least 1")
    if not (folder / "manifest.json").is_file():
        raise InputError(f"found no checkpoint in {folder}, need one, do: python -m standins train {options.model}")
    scores = evaluate(folder, options.pages, bf16=options.bf16)
    cer = scores[-1].cer
    if options.json:
        revision = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["revision"]
        rows = [vars(score) for score in scores]
        print(json.dumps({"revision": revision, "cer": cer, "goal": GOAL, "met": cer <= GOAL, "kinds": rows}, indent=2))
    else:
        print(f"{'kind':<15}{'pages':>6}{'CER':>9}{'exact':>7}")
        for score in scores:
            print(f"{score.kind:<15}{score.pages:>6}{score.cer:>9.2%}{score.exact:>7}")
        print(f"goal: CER at most {GOAL:.0%}: {'met' if cer <= GOAL else 'NOT met'}")
    return 0 if cer <= GOAL else 1


def run(options: argparse.Namespace) -> int:
    """Carry out one verb; returns the exit code."""
    home = ROOT / "models" / options.model
    if options.verb == "pages":
        from standins import demo

        print(f"wrote {demo.write(home / 'pages')} pages to {home / 'pages' / 'standin.pdf'}")
        return 0
    try:
        import torch
        import transformers  # noqa: F401
    except ModuleNotFoundError as missing:
        raise InputError(
            f"found no Python package {missing.name!r}, need those of standins/requirements.txt, "
            "do: pip install -r standins/requirements.txt"
        ) from None
    if options.verb in ("train", "evaluate"):
        torch.set_num_threads(options.threads)
    if options.verb == "evaluate":
        return evaluate(options, options.checkpoint or home / "standin")
    from standins import train

    if options.verb == "untrained":
        revision = train.untrained(home / "standin")
    else:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        if options.verb == "train":
            train.Trainer(options.state, home / "standin.log").run()
        elif not options.state.is_file():
            raise InputError(
                f"found no training state {options.state}, need one, do: python -m standins train lightonocr"
            )
        revision = train.export(options.state, home / "standin", home / "standin.log")
    print(f"wrote {home / 'standin'}, revision {revision}")
    return 0


def main() -> int:
    """Entry point."""
    try:
        return run(parser().parse_args())
    except DockError as error:
        print(f"standins: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("standins: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
