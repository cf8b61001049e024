"""The clients under test as long-lived processes: started once, pinned, given jobs one at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from benchmarks.load.jobs import Job, Sample

ROOT = Path(__file__).parent.parent.parent
VLLM_PYTHON = ROOT / ".venv-vllm" / "bin" / "python"

OURS, OURS_UVLOOP, VLLM_LOOP = "specwatch", "specwatch + uvloop", "vllm bench serve loop"
COMMANDS: dict[str, Sequence[str]] = {
    OURS: (sys.executable, "-m", "benchmarks.load.ours"),
    OURS_UVLOOP: (sys.executable, "-m", "benchmarks.load.ours", "--uvloop"),
    VLLM_LOOP: (str(VLLM_PYTHON), "-m", "benchmarks.load.vllm_loop"),
}


class Client:
    """One driver process; `measure` blocks until its sample is there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._folder = tempfile.TemporaryDirectory(prefix="specwatch-bench-")
        self._process = subprocess.Popen(
            COMMANDS[name], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()

    def measure(self, job: Job, cores: Collection[int]) -> Sample:
        """Raises SystemExit where the driver died."""
        os.sched_setaffinity(self._process.pid, cores)
        path = Path(self._folder.name) / "sample.json"
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": asdict(job), "path": str(path)}) + "\n")
        self._process.stdin.flush()
        self._answer()
        values = json.loads(path.read_text(encoding="utf-8"))
        values["requests"] = [tuple(request) for request in values["requests"]]
        return Sample(**values)

    def _answer(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise SystemExit(f"the driver of {self.name} ended with status {self._process.wait()}; see above")

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._folder.cleanup()
