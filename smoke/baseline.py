"""The CPU baseline: one checkpoint, some pages, through transformers in float32 and once more in bfloat16.

Runs inside the model's image, which has torch and transformers; `smoke.store` starts it and keeps what it says:

    docker run -i --network none -v READY:/model:ro -v SMOKE:/opt/dock/smoke:ro -w /opt/dock IMAGE \\
        python3 -m smoke.baseline < job.json

stdin: {"model": folder, "spec": the `baseline` part of smoke.yaml, "max_tokens": n,
        "pages": [{"name": str, "png": base64}]}
stdout: lines that begin with `@smoke `, each followed by one JSON object: {"progress": str} any number of times, then
either {"pages": [...], ...} or {"error": str}. Other lines belong to the image's entry point. `--versions` in place
of a job gives {"versions": {...}} only.

Per page: the greedy ids of the float32 model (argmax of the logits, end token included), and for each position t of
that path, teacher-forced in one pass without a cache, the greedy id a(t), the best other id b(t) by the float32
logits z, and the margin

    margin32(t) = z32_t[a(t)] - z32_t[b(t)]           (float32)
    margin16(t) = z16_t[a(t)] - z16_t[b(t)]           (same class and path in bfloat16, the same two ids)

What these are for stands in `smoke.compare`. Known and left: the norm in front of the projector has eps 1e-6 here and
1e-5 in vLLM; the effect is about 1e-6 of a logit, far below bfloat16's noise.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import time
from pathlib import Path

from smoke.reference import (
    FLOAT32_NOISE,
    BaselineError,
    Json,
    forced,
    greedy,
    image_grid,
    load_model,
    load_processor,
    margin,
    page_inputs,
    stop_ids,
    with_second,
)

MARK = "@smoke "
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "pillow", "torchvision", "numpy")


def versions() -> dict[str, str]:
    """Versions of every library whose change may change a number."""
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def compute(job: Json) -> Json:
    """All pages of `job`: first everything in float32, then the same paths in bfloat16."""
    import torch

    started = time.monotonic()
    folder, spec = Path(job["model"]), job["spec"]
    processor = load_processor(folder, spec)
    inputs = [page_inputs(processor, page, spec) for page in job["pages"]]
    stop = stop_ids(folder)

    model = load_model(folder, spec, torch.float32)
    pages = []
    for number, (page, tensors) in enumerate(zip(job["pages"], inputs, strict=True), 1):
        say({"progress": f"float32 page {number} of {len(inputs)}: {page['name']}"})
        ids = greedy(model, tensors, job["max_tokens"], stop)
        logits = forced(model, tensors, ids)
        pair = with_second(logits, ids)
        margins = margin(logits, pair)
        if min(margins) < -FLOAT32_NOISE:
            raise BaselineError(f"found two float32 passes that disagree on {page['name']} by {-min(margins)}")
        pages.append(
            {
                "name": page["name"],
                "grid": image_grid(tensors, spec),
                "prompt_ids": tensors["input_ids"][0].tolist(),
                "ids": ids,
                "second": pair[:, 1].tolist(),
                "margin": margins,
            }
        )

    del model  # two copies of a large checkpoint need not fit side by side
    model = load_model(folder, spec, torch.bfloat16)
    for number, (record, tensors) in enumerate(zip(pages, inputs, strict=True), 1):
        say({"progress": f"bfloat16 page {number} of {len(inputs)}: {record['name']}"})
        pair = torch.tensor([record["ids"], record["second"]]).T
        record["margin_bf16"] = margin(forced(model, tensors, record["ids"]), pair)
    return {
        "class": type(model).__name__,
        "image_processor": type(processor.image_processor).__name__,
        "pages": pages,
        "seconds": round(time.monotonic() - started, 1),
    }


def say(record: Json) -> None:
    """One protocol line to stdout."""
    print(MARK + json.dumps(record), flush=True)


def main() -> int:
    """Answer one job from stdin."""
    if sys.argv[1:] == ["--versions"]:
        say({"versions": versions()})
        return 0
    try:
        say(compute(json.load(sys.stdin)))
    except BaselineError as error:
        say({"error": str(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
