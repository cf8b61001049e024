"""What the tools write for one run, shortened to what a test is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def vllm(arm: str | None, clients: float | None, tok_s: float, **more: Any) -> dict[str, Any]:
    """One result of `vllm bench serve --save-result` without request latencies."""
    result = {
        "date": "20261130-120000",
        "backend": "vllm",
        "label": None,
        "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "request_rate": "inf",
        "max_concurrency": clients,
        "duration": 30.0 + tok_s / 1e6,
        "completed": 256,
        "failed": 0,
        "output_throughput": tok_s,
    }
    return result | ({"arm": arm} if arm else {}) | more


def drafting(k: float = 3.0, accepted_share: float = 0.5, drafts: int = 1000) -> dict[str, Any]:
    """The keys that vLLM adds where draft tokens moved; its acceptance rate is in percent."""
    return {
        "spec_decode_num_drafts": drafts,
        "spec_decode_draft_tokens": round(k * drafts),
        "spec_decode_accepted_tokens": round(accepted_share * k * drafts),
        "spec_decode_acceptance_rate": 100 * accepted_share,
        "spec_decode_acceptance_length": 1 + accepted_share * k,
    }


def saved(folder: Path, *records: dict[str, Any], name: str = "results.json") -> Path:
    """The records, appended to one another in a file."""
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
