"""Whole runs of the tools others measure with, for the TTFT they report beside the true one; one run each.

All are pinned to the same single core as our client. guidellm and aiperf spread over processes and do better with more
cores, so they also get a run with every core there is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from benchmarks.load.clients import ROOT, VLLM_PYTHON
from benchmarks.load.rows import parse_log
from benchmarks.load.server import Mock

PEERS = ROOT / ".venv-peers" / "bin"
MODEL_FOLDER = ROOT / ".live" / "model"
"""A tokenizer without network: the live tier writes it (`tests/live/make_model.py`)."""
PROMPT_TOKENS = 32
TIMEOUT_S = 240
NO_REPORTS = {"DO_NOT_TRACK": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}


class ToolError(Exception):
    """A tool gave no number; the benchmark goes on without it."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """What a tool said, beside what was so."""

    tool: str
    streams: int
    one_core: bool
    ttft_mean_ms: float
    ttft_p99_ms: float
    true_mean_ms: float
    tok_per_s: float


@dataclass(frozen=True, slots=True)
class Tool:
    """How to call one and where its answer stands."""

    name: str
    binary: Path
    command: Callable[[Mock, int, int, Path], Sequence[str]]
    read: Callable[[Path], tuple[float, float, float]]
    """TTFT mean and p99 in ms, output tok/s."""
    spreads: bool = False
    """Over processes."""
    needs_hub_mode: bool = False
    """Takes a folder for a tokenizer only where the hub is not switched off."""


def missing() -> list[str]:
    """What keeps tools from running, in words."""
    words = [f"{tool.name}: no {tool.binary.relative_to(ROOT)}" for tool in TOOLS if not tool.binary.exists()]
    if not (MODEL_FOLDER / "tokenizer.json").exists():
        words.append("no tokenizer in .live/model: run `make test-live` once, or tests/live/make_model.py")
    return words


def run_tool(tool: Tool, mock: Mock, streams: int, chunks: int, cores: Collection[int] | None) -> ToolRun:
    """One run of three requests a stream. Raises ToolError with the tool's last words where it fails."""
    folder = Path(tempfile.mkdtemp(prefix="specwatch-bench-"))
    environment = {**os.environ, **NO_REPORTS, **({} if tool.needs_hub_mode else {"HF_HUB_OFFLINE": "1"})}
    pin = ["taskset", "--cpu-list", ",".join(map(str, sorted(cores)))] if cores else []
    try:
        done = subprocess.run(
            [*pin, *tool.command(mock, streams, chunks, folder)],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise ToolError(f"{tool.name} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        ttft_mean_ms, ttft_p99_ms, tok_per_s = tool.read(folder)
    except subprocess.TimeoutExpired:
        raise ToolError(f"{tool.name} did not end within {TIMEOUT_S} s") from None
    except (OSError, LookupError) as error:
        raise ToolError(f"{tool.name} wrote no result as it used to: {error!r}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    answers = parse_log(mock.log()).values()
    true_ms = mean(1e3 * (answer.sent_s[0] - answer.arrived_s) for answer in answers if answer.sent_s)
    return ToolRun(tool.name, streams, bool(cores), ttft_mean_ms, ttft_p99_ms, true_ms, tok_per_s)


def _vllm(mock: Mock, streams: int, chunks: int, folder: Path) -> Sequence[str]:
    return (
        *(str(VLLM_PYTHON.parent / "vllm"), "bench", "serve", "--backend", "openai", "--base-url", mock.url),
        *("--model", str(MODEL_FOLDER), "--served-model-name", "mock", "--dataset-name", "random"),
        *("--random-input-len", str(PROMPT_TOKENS), "--random-output-len", str(chunks), "--ignore-eos"),
        *("--max-concurrency", str(streams), "--num-prompts", str(3 * streams), "--disable-tqdm"),
        *("--save-result", "--result-dir", str(folder), "--result-filename", "result.json"),
    )


def _read_vllm(folder: Path) -> tuple[float, float, float]:
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    return result["mean_ttft_ms"], result["p99_ttft_ms"], result["output_throughput"]


def _guidellm(mock: Mock, streams: int, chunks: int, folder: Path) -> Sequence[str]:
    return (
        *(str(PEERS / "guidellm"), "run", "--disable-console"),
        *("--backend", f"kind=openai_http,target={mock.url},model=mock,request_format=/v1/completions"),
        *("--profile", f"kind=concurrent,streams={streams}"),
        *("--constraint", f"kind=max_requests,count={3 * streams}"),
        *("--tokenizer", f"kind=huggingface_auto,model={MODEL_FOLDER}"),
        *("--data", f"kind=synthetic_text,prompt_tokens={PROMPT_TOKENS},output_tokens={chunks}"),
        *("--output", f"kind=json,path={folder / 'result.json'}"),
    )


def _read_guidellm(folder: Path) -> tuple[float, float, float]:
    metrics = json.loads((folder / "result.json").read_text(encoding="utf-8"))["benchmarks"][0]["metrics"]
    ttft = metrics["time_to_first_token_ms"]["successful"]
    speed = metrics["output_tokens_per_second"]["successful"]["mean"]
    return ttft["mean"], ttft["percentiles"]["p99"], speed


def _aiperf(mock: Mock, streams: int, chunks: int, folder: Path) -> Sequence[str]:
    return (
        *(str(PEERS / "aiperf"), "profile", "--model", "mock", "--url", mock.url, "--endpoint-type", "completions"),
        *("--streaming", "--tokenizer", str(MODEL_FOLDER), "--use-server-token-count"),
        *("--concurrency", str(streams), "--request-count", str(3 * streams)),
        *("--isl", str(PROMPT_TOKENS), "--osl", str(chunks), "--extra-inputs", "ignore_eos:true"),
        *("--artifact-dir", str(folder), "--ui-type", "none", "--no-server-metrics", "--no-gpu-telemetry"),
    )


def _read_aiperf(folder: Path) -> tuple[float, float, float]:
    result = json.loads((folder / "profile_export_aiperf.json").read_text(encoding="utf-8"))
    ttft = result["time_to_first_token"]
    return ttft["avg"], ttft["p99"], result["output_token_throughput"]["avg"]


TOOLS = (
    Tool("vllm bench serve", VLLM_PYTHON.parent / "vllm", _vllm, _read_vllm),
    Tool("guidellm", PEERS / "guidellm", _guidellm, _read_guidellm, spreads=True),
    Tool("aiperf", PEERS / "aiperf", _aiperf, _read_aiperf, spreads=True, needs_hub_mode=True),
)
