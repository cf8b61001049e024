"""Runs the installed `specwatch` as a user would, as a process of its own; never imports the package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tests.live.measure import complete, prompts

SPECWATCH = Path(sys.executable).with_name("specwatch")
SWEEP_LIMIT_S = 900.0
"""Far above any sweep here: only a hang meets it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command said."""

    status: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Both streams, for tests of words and for failure messages."""
        return f"{self.out}\n{self.err}"

    @property
    def result(self) -> dict[str, Any]:
        """stdout as the one JSON object that `--json` promises."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed


def specwatch(*arguments: str | Path, limit_s: float = 120.0) -> Ran:
    """Run to its end; stdin is empty."""
    command = [str(SPECWATCH), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=limit_s)
    return Ran(done.returncode, done.stdout, done.stderr)


def sweep(config: Path) -> Ran:
    """`sweep --now --json --out result.json` beside the config."""
    out = config.with_name("result.json")
    return specwatch("sweep", "tiny", "--config", config, "--now", "--json", "--out", out, limit_s=SWEEP_LIMIT_S)


@contextmanager
def traffic(*urls: str, clients: int = 4, temperature: float = 0.0) -> Iterator[None]:
    """Keep that many requests in flight on every URL while the block runs; begins when each URL has answered once.

    Long answers of different lengths: two scrapes of an overloaded machine must not both fall between requests.
    """
    stop = Event()
    texts = prompts(40)

    def client(url: str, number: int) -> None:
        options = {"temperature": temperature, "max_tokens": 384 + 64 * number}
        turn = number
        while not stop.is_set():
            complete(url, f"{number}-{turn} {texts[turn % len(texts)]}", options)
            turn += clients

    for url in urls:
        complete(url, texts[0], {"temperature": temperature, "max_tokens": 16})
    threads = [Thread(target=client, args=(url, number)) for url in urls for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
