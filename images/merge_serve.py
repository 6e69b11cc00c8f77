"""Lay one vLLM configuration file over another: `merge_serve.py COMMON OVERLAY RESULT`. The overlay's keys win."""

import sys
from pathlib import Path

import yaml

common, overlay, result = (Path(name) for name in sys.argv[1:])
merged = yaml.safe_load(common.read_text())
if overlay.exists():
    merged.update(yaml.safe_load(overlay.read_text()) or {})
result.write_text(yaml.safe_dump(merged, sort_keys=False))
