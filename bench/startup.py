"""`docker compose up lightonocr` to healthy, against the same engine outside of a container.

The peer is the image's own file tree, unpacked into a directory and entered with chroot, with the same command line,
uid, environment and checkpoint. The difference is what containers, Compose, the gateway and the health check cost.
Mounts live in a mount namespace that ends with the process, so nothing of them is left behind or can be deleted.

Both sides run beside an installed stack and do not touch it: Compose under a project name and a port of its own, the
peer on a port of its own. Needs root, for the mounts and chroot.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core import Question, Result, alternate, judge, progress
from dock.errors import DockError
from dock.settings import ROOT

SERVICE = "lightonocr"
PROJECT = "ascend-dock-bench"
PLACE = ROOT / "state" / "bench"
GOAL = 1.3  # times the peer
LIMIT = 600  # s for one start
POLL = 0.1  # s
QUESTION = Question("startup", "s to healthy", "bare vllm serve", GOAL)

# Arguments: root directory, checkpoint, uid:gid, working directory, then the command.
ENTER = """
root=$1 model=$2 user=$3 work=$4; shift 4
mount --rbind /proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777,exec tmpfs "$root/tmp"
mkdir -p "$root/model"; mount --bind "$model" "$root/model"; mount -o remount,bind,ro "$root/model"
exec chroot --userspec="$user" "$root" /bin/sh -c 'cd "$0" && exec "$@"' "$work" env -i "$@"
"""


@dataclass(frozen=True)
class Engine:
    """How Compose would run the engine, read from a container that it created."""

    container: str
    command: tuple[str, ...]
    environment: tuple[str, ...]
    user: str
    workdir: str
    model: str  # host directory that is mounted at /model


def bench_startup(runs: int) -> list[Result]:
    """Seconds from the command to a healthy engine, both from warm file caches."""
    if os.geteuid() != 0:
        raise DockError("found no root, need it for chroot and mounts, do: sudo make bench BENCH=startup")
    root = PLACE / "rootfs"
    port = free_port()
    try:
        engine = create(port)
        unpack(engine, root)
        progress("one start of each side that does not count, to read the files once")
        composed(port)
        bare(engine, root)
        ours, peers = alternate(runs, lambda: composed(port), lambda: bare(engine, root))
    finally:
        compose(port, "down", "--volumes", check=False)
        shutil.rmtree(root, ignore_errors=True)
    return [judge(QUESTION, ours, peers)]


def composed(port: int) -> float:
    """Start the service with no container of it there; seconds until Docker calls it healthy."""
    compose(port, "rm", "--stop", "--force")
    start = time.monotonic()
    compose(port, "up", "--detach", SERVICE)
    container = compose(port, "ps", "--quiet", SERVICE).strip()

    def healthy() -> bool:
        state: dict[str, Any] = inspect(container)["State"]
        if state["Status"] != "running" or state["Health"]["Status"] == "unhealthy":
            raise DockError(f"found the engine {state['Status']}, need it healthy, do: docker logs {container}")
        return bool(state["Health"]["Status"] == "healthy")

    took = wait_for(healthy, start)
    compose(port, "rm", "--stop", "--force")
    return took


def bare(engine: Engine, root: Path) -> float:
    """Start the same engine without Docker; seconds until its /health answers 200."""
    port = free_port()
    # The last value of an option wins: a free port on loopback instead of the 8000 on all addresses inside a container.
    command = [*engine.environment, *engine.command, "--host", "127.0.0.1", "--port", str(port)]
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-euc", ENTER, "enter"]
    log = PLACE / "bare.log"
    with log.open("wb") as output:
        start = time.monotonic()
        process = subprocess.Popen(
            [*enter, str(root), engine.model, engine.user, engine.workdir, *command],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def healthy() -> bool:
        if process.poll() is not None:
            raise DockError(f"found the bare engine ended ({process.returncode}), need it serving, do: tail {log}")
        return answers(f"http://127.0.0.1:{port}/health")

    try:
        return wait_for(healthy, start)
    finally:
        stop(process)


def create(port: int) -> Engine:
    """Let Compose create its containers, and read from the engine's how it would run."""
    compose(port, "create", SERVICE)
    container = compose(port, "ps", "--all", "--quiet", SERVICE).strip()
    found = inspect(container)
    config = found["Config"]
    model = next(mount["Source"] for mount in found["Mounts"] if mount["Destination"] == "/model")
    command = (*(config["Entrypoint"] or ()), *config["Cmd"])
    return Engine(container, command, tuple(config["Env"]), config["User"], config["WorkingDir"] or "/", model)


def unpack(engine: Engine, root: Path) -> None:
    """The container's file tree as a plain directory."""
    size = int(docker("image", "inspect", "--format", "{{.Size}}", inspect(engine.container)["Image"]))
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    free = shutil.disk_usage(root).free
    if free < size * 1.2:
        raise DockError(f"found {free / 1e9:.0f} GB free in {PLACE}, need {size * 1.2 / 1e9:.0f} GB for the peer")
    progress(f"unpacking {size / 1e9:.1f} GB for the peer")
    with subprocess.Popen(["docker", "export", engine.container], stdout=subprocess.PIPE) as export:
        tar = subprocess.run(["tar", "-x", "--numeric-owner", "-C", str(root)], stdin=export.stdout, check=False)
    if tar.returncode or export.returncode:
        raise DockError(f"found no way to unpack the image into {root}, need docker export and tar to work there")


def compose(port: int, *arguments: str, check: bool = True) -> str:
    """Docker Compose on the repository's own file, as another project with another published port."""
    return docker(
        "compose", "--project-name", PROJECT, *arguments, environment={"GATEWAY_PORT": str(port)}, check=check
    )


def docker(*arguments: str, environment: dict[str, str] | None = None, check: bool = True) -> str:
    """Standard output of one docker command; DockError with its last line when it fails."""
    try:
        done = subprocess.run(
            ["docker", *arguments],
            cwd=ROOT,
            env=os.environ | (environment or {}),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise DockError("found no docker, need it, do: ansible-playbook site.yml") from None
    if check and done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        raise DockError(f"found docker {' '.join(arguments[:4])} failing: {said}")
    return done.stdout


def inspect(container: str) -> dict[str, Any]:
    """Docker's description of a container."""
    found: dict[str, Any] = json.loads(docker("inspect", container))[0]
    return found


def wait_for(ready: Callable[[], bool], start: float) -> float:
    """Seconds from `start` until `ready`; DockError after LIMIT."""
    while not ready():
        if time.monotonic() - start > LIMIT:
            raise DockError(f"found the engine not healthy after {LIMIT} s, need a start within that")
        time.sleep(POLL)
    return time.monotonic() - start


def answers(url: str) -> bool:
    """`url` answers 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310  # http to loopback
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(90)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    """A TCP port on loopback that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
