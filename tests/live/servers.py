"""Starts and always stops the real vLLM servers of the live tier; knows how to launch them, not what they must show.

Each server runs under `guard.py`, which ends it when this process goes away in whatever manner.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VLLM = ROOT / ".venv-vllm" / "bin" / "vllm"
MODEL = ROOT / ".live" / "model"
MODEL_NAME = "tiny"
K = 4
"""Draft tokens per step of the n-gram arm."""
START_DEADLINE_S = 420.0
"""A start takes 50 s on two idle cores."""

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback only: proxy variables must not decide where the requests go."""


class ServerDidNotStart(Exception):
    """With the end of the server's log, which names the cause."""


@dataclass(frozen=True, slots=True)
class Server:
    """One vLLM, and the guard process that holds it."""

    name: str
    url: str
    log: Path
    guard: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Servers:
    """The two arms of every live sweep."""

    off: Server
    ngram: Server


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def launch_command(port: int, *, speculative: bool) -> list[str]:
    """The server's command line; the two arms differ in `--speculative-config` alone."""
    command = [str(VLLM), "serve", str(MODEL), "--served-model-name", MODEL_NAME, "--load-format", "dummy"]
    command += ["--dtype", "bfloat16", "--max-model-len", "2048", "--max-num-seqs", "64", "--enforce-eager"]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    if speculative:
        lookup = {"method": "ngram", "num_speculative_tokens": K, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
        command += ["--speculative-config", json.dumps(lookup)]
    return command


def launch_environment() -> dict[str, str]:
    """Offline, 1 GiB of KV cache, one compute thread a server: two servers share two cores."""
    settings = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "OMP_NUM_THREADS": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "NO_PROXY": "127.0.0.1",
        "PYTHONPATH": str(Path(__file__).with_name("server_site")),
    }
    return {**os.environ, **settings}


@contextmanager
def launched(name: str, log: Path, *, speculative: bool) -> Iterator[Server]:
    """Launch one server, not waiting for it, and stop it with all of its processes when the block ends."""
    port = free_port()
    command = [
        sys.executable,
        str(Path(__file__).with_name("guard.py")),
        *launch_command(port, speculative=speculative),
    ]
    with log.open("wb") as sink:
        guard = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=launch_environment(),
            start_new_session=True,
        )
    try:
        yield Server(name, f"http://127.0.0.1:{port}", log, guard)
    finally:
        # Closing its stdin is the order to stop; the guard waits for the whole group.
        guard.communicate()


@contextmanager
def supervised(directory: Path, port: int, *, arm: str) -> Iterator[Server]:
    """A server whose arm `supervisor.py switch` changes, first launched as `arm`; not waited for."""
    (directory / "want").write_text(f"{arm} 0")
    guard_script, supervisor = (str(Path(__file__).with_name(name)) for name in ("guard.py", "supervisor.py"))
    guard = subprocess.Popen(
        [sys.executable, guard_script, sys.executable, supervisor, "run", str(directory), str(port)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield Server("switchable", f"http://127.0.0.1:{port}", directory / f"{arm}.log", guard)
    finally:
        guard.communicate()


def wait_until_healthy(server: Server) -> None:
    """Return when `/health` answers 200. Raises ServerDidNotStart where the process ends or the deadline passes."""
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline:
        status = server.guard.poll()
        if status is not None:
            raise ServerDidNotStart(f"vLLM `{server.name}` ended with status {status} at start\n{log_tail(server.log)}")
        with suppress(OSError), DIRECT.open(f"{server.url}/health", timeout=5):
            return
        time.sleep(0.5)
    raise ServerDidNotStart(
        f"vLLM `{server.name}` did not answer {server.url}/health in {START_DEADLINE_S:.0f} s\n{log_tail(server.log)}"
    )


def log_tail(log: Path, lines: int = 40) -> str:
    """The end of a server's log, for a failure's message."""
    return "\n".join([f"--- end of {log} ---", *log.read_text(errors="replace").splitlines()[-lines:]])
