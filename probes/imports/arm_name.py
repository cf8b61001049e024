"""Which arm a run belongs to, where no file format records the server's configuration as such; pure.

What a person wrote (metadata, tag, label, the name in a sweep's folder) goes before what settings and files imply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BASELINE_NAMES = ("off", "baseline", "none", "no_spec")
OFF = "off"
ARM_KEYS = ("arm", "tag")
"""Named by the user: vLLM's `--metadata arm=k3`, SGLang's `--tag k3`, guidellm's `--label arm=k3`."""
K_KEYS = ("num_speculative_tokens", "speculative_num_steps")
METHOD_KEYS = ("speculative_method", "speculative_algorithm")
CONFIG_KEYS = ("speculative_config", "speculative-config")
NO_METHOD = ("", "none", "off", "null")
GENERIC = re.compile(
    r"(?:profile_export(?:_aiperf)?|profile_runs|artifacts|benchmarks?|results?|summary|output|run|data)?",
    re.IGNORECASE,
)
"""Names that say nothing of what was measured; then the folder's name does."""
NAME_NOISE = re.compile(
    r"(?:^|[-_.])(?:(?:c|conc|concurrency|r|rep|repeat|run|trial|search_iter)[-_=]?\d+|infqps|\d+(?:\.\d+)?qps|\d{6,})(?=[-_.]|$)"
)
LEVELS = 6
"""A file's own name and the folders above it that may name its arm; aiperf nests its repeats four deep."""
SWEEP_FOLDER = re.compile(r"SERVE--(?P<serve>.+?)(?:-BENCH--|-WL--|$)")
"""A combination's folder of `vllm bench sweep`, named after its server parameters and its benchmark's."""
VLLM_DEFAULT_NAME = re.compile(r"-(?:inf|\d+(?:\.\d+)?)qps-")


def arm_of(path: Path, record: Mapping[str, Any]) -> str:
    """The arm that a record names, else its settings, else the file's or folder's name."""
    named = _written(record)
    if named is not None:
        return named
    folder = SWEEP_FOLDER.search(path.parent.name)
    if folder is not None and "=" not in folder["serve"]:
        return folder["serve"]
    by_settings = arm_of_settings(record)
    if by_settings is not None:
        return by_settings
    if path.parent.name.startswith("BENCH--"):
        # A server started without any parameter of its own in a sweep over servers.
        return OFF
    return arm_of_path(path)


def arm_of_settings(record: Mapping[str, Any]) -> str | None:
    """`off`, `k3` or the method's name, where a record speaks of speculation at all."""
    for source in (record.get("server_info"), *(record.get(key) for key in CONFIG_KEYS), _dotted(record), record):
        arm = _arm_of_mapping(source)
        if arm is not None:
            return arm
    return None


def arm_of_path(path: Path) -> str:
    """The file's name without concurrency, repeat, rate and date: `k3-c32.json` and `k3_run2.json` are both `k3`.

    A name that says nothing, like aiperf's, gives way to the folder's.
    """
    names = [path.name.split(".json")[0].rsplit(".csv", 1)[0], *(parent.name for parent in path.absolute().parents)]
    for name in names[:LEVELS]:
        arm = NAME_NOISE.sub("", name).strip("-_.= ")
        if arm and not GENERIC.fullmatch(arm):
            return arm
    return names[0]


def is_default_name(path: Path, backend: object) -> bool:
    """Whether `vllm bench serve` chose the file's name itself, so that it tells the model and never the arm."""
    return (
        isinstance(backend, str)
        and path.name.startswith(f"{backend}-")
        and (VLLM_DEFAULT_NAME.search(path.name) is not None)
    )


def k_of_name(arm: str) -> int | None:
    """3 of `k3`."""
    match = re.fullmatch(r"k(\d{1,2})", arm, re.IGNORECASE)
    return int(match[1]) if match else None


def looks_like_baseline(arm: str) -> bool:
    """`off` and its like, alone or as a word in a longer name (`llama8b-off`)."""
    plain = arm.lower().replace("-", "_")
    return plain in BASELINE_NAMES or any(word in ("off", "baseline", "nospec") for word in re.split(r"[_.\s]", plain))


def _written(record: Mapping[str, Any]) -> str | None:
    for key in ARM_KEYS:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()
    label = record.get("label")
    if isinstance(label, str) and label.strip() and label != record.get("backend"):
        return label.strip()
    return None


def _dotted(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """`speculative_config.num_speculative_tokens`, as a sweep over servers may write its overrides."""
    found = {
        key.split(".", 1)[1]: value
        for key, value in record.items()
        if key.startswith(tuple(f"{name}." for name in CONFIG_KEYS))
    }
    return found or None


def _arm_of_mapping(source: object) -> str | None:
    if isinstance(source, str):
        try:
            source = json.loads(source)
        except (json.JSONDecodeError, RecursionError):
            return None
    if not isinstance(source, dict):
        return None
    tokens = next((source[key] for key in K_KEYS if source.get(key) not in (None, "")), None)
    methods = [source[key] for key in METHOD_KEYS if key in source]
    if any(m is None or str(m).strip().lower() in NO_METHOD for m in methods) or str(tokens) == "0":
        return OFF
    if tokens is not None and str(tokens).isdecimal():
        return f"k{tokens}"
    method = (
        methods[0] if methods else source.get("method") if "model" in source or "prompt_lookup_max" in source else None
    )
    return str(method).strip().lower() if method else None
