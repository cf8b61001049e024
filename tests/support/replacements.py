"""Pairs of pages that one process can or cannot have written, for all who tell replaced servers from changed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probes.values import EngineKind

Fields = Mapping[str, Any]
ONE_API: Fields = {"process_start_s": 17.25, "speculation_configured": True, "k": 3}
SEVERAL_API: Fields = {**ONE_API, "process_start_s": None}
OFF: Fields = {**SEVERAL_API, "speculation_configured": False, "k": None}
SGLANG: Fields = {**SEVERAL_API, "engine_kind": EngineKind.SGLANG}

REPLACED: Mapping[str, tuple[Fields, Fields]] = {
    "a start vanishes": (ONE_API, SEVERAL_API),
    "a start appears": (SEVERAL_API, ONE_API),
    "another start": (ONE_API, {**ONE_API, "process_start_s": 99.0}),
    "speculation series vanish": (SEVERAL_API, OFF),
    "speculation series appear": (OFF, SEVERAL_API),
    "another number of draft positions": (SEVERAL_API, {**SEVERAL_API, "k": 5}),
    "the same of one start": (ONE_API, {**ONE_API, "k": 5}),
    "another engine": (SEVERAL_API, SGLANG),
    "another model": (SGLANG, {**SGLANG, "model_names": ("qwen",)}),
}
SAME: Mapping[str, tuple[Fields, Fields]] = {
    "nothing changes": (SEVERAL_API, SEVERAL_API),
    "K of SGLang": (SGLANG, {**SGLANG, "k": 1}),
    "speculation of SGLang shows": ({**SGLANG, "speculation_configured": False, "k": None}, SGLANG),
    "it could not be told before": ({**SEVERAL_API, "speculation_configured": None, "k": None}, SEVERAL_API),
    "the engine was not known": ({**SEVERAL_API, "engine_kind": None}, SEVERAL_API),
    "names appear": ({**SGLANG, "model_names": ()}, SGLANG),
    "a name more": (SGLANG, {**SGLANG, "model_names": ("adapter", "llama")}),
    "cache facts appear": ({**SGLANG, "cache_config": {}}, SGLANG),
}
