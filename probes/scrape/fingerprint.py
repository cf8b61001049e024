"""Name what a server is, so that a crossover measured on one is never compared with another; pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from probes.values import Identity


def fingerprint(identity: Identity, cache_config: Mapping[str, str], hardware: str | None, revision: str | None) -> str:
    """12 hex characters over what decides a server's speed and is the same in every arm of a sweep.

    K and the number of KV blocks stay out: arms differ in them (drafts take KV space). HTTP shows no GPU, so `hardware`
    and `revision` are what the user declared.
    """
    parts = [
        identity.version,
        identity.model_root,
        identity.max_model_len,
        cache_config.get("block_size"),
        cache_config.get("cache_dtype"),
        cache_config.get("enable_prefix_caching"),
        hardware,
        revision,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
