"""The loads under which clients are compared, and what each is there to show."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.load.clients import OURS, OURS_UVLOOP, VLLM_LOOP

ALL = (OURS, OURS_UVLOOP, VLLM_LOOP)
BEST = (OURS_UVLOOP, VLLM_LOOP)


@dataclass(frozen=True, slots=True)
class Scene:
    """One load. A burst starts all clients at once, otherwise they are spread over one answer's time."""

    name: str
    streams: int
    itl_s: float
    chunks: int
    window_s: float = 0.8
    ttft_s: float = 0.05
    burst: bool = False
    tls: bool = False
    lockstep: bool = False
    every_chunk: bool = False
    processes: int = 1
    clients: tuple[str, ...] = ALL

    @property
    def answer_s(self) -> float:
        """From arrival to the last chunk."""
        return self.ttft_s + (self.chunks - 1) * self.itl_s

    @property
    def offered(self) -> float:
        """Chunks per second with a client that loses no time."""
        return self.streams * self.chunks / self.answer_s


STEADY = (
    Scene("64 streams", 64, 0.020, 75),
    Scene("256 streams", 256, 0.040, 40),
    Scene("1024 streams", 1024, 0.100, 20),
)
BURST = Scene("cold burst of 256", 256, 0.040, 6, window_s=0.3, burst=True)
FAST = Scene("20,000 chunks/s over 256 streams", 256, 0.0127, 100, every_chunk=True)
STEP = Scene("20,000 chunks/s, all streams in step", 256, 0.0127, 100, every_chunk=True, lockstep=True, clients=BEST)
TLS = Scene("256 streams over TLS", 256, 0.040, 40, tls=True, clients=BEST)
ONE = Scene("512 streams, one process", 512, 0.010, 100, clients=(OURS_UVLOOP,))
TWO = Scene("1024 streams, two processes", 1024, 0.010, 100, clients=(OURS_UVLOOP,), processes=2)
"""Twice the load with twice the processes: at the same load a second process only wakes up as often for less."""
SCENES = (*STEADY, BURST, FAST, STEP, TLS, ONE, TWO)
