"""Ask a server what it is, over the paths that show it; never raises, and keeps only named fields of the answers.

SGLang's `/server_info` lists every start argument, keys included, so nothing of it is passed on whole.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from typing import Any

from probes.engines.sglang import drafted
from probes.http import AsyncClient, HTTPError, InvalidURL, make_client, make_ssl_context
from probes.scrape.fetch import BadEncodingError, TooLargeError, fetch
from probes.values import Identity, Target

MAX_BYTES = 4_000_000
SERVER_INFO = ("/server_info", "/get_server_info")
"""The old name still answers in new versions, but logs a warning there at every call: it is asked second."""


async def identify(target: Target, *, timeout_s: float) -> Identity:
    """Version, model and (SGLang) speculation as HTTP shows them; None for what the server does not say.

    `timeout_s` bounds all requests together.
    """
    secure = target.url.lower().startswith("https:")
    try:
        context = make_ssl_context(target) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    except (OSError, ssl.SSLError):
        return Identity()
    async with make_client(timeout_s=timeout_s, ssl_context=context) as client:
        asker = _Asker(client, target, asyncio.get_running_loop().time() + timeout_s)
        version, models = await asyncio.gather(asker.ask("/version"), asker.ask(f"{target.api_path}/models"))
        info: Mapping[str, Any] = {}
        if _text(version, "version") is None:
            for path in SERVER_INFO:
                info = info or await asker.ask(path)
    return _identity(target, version, models, info)


class _Asker:
    """JSON objects from one server until one common deadline."""

    def __init__(self, client: AsyncClient, target: Target, deadline: float) -> None:
        self._client = client
        self._target = target
        self._deadline = deadline

    async def ask(self, path: str) -> Mapping[str, Any]:
        """The object at a path; empty where there is none, whatever the reason."""
        try:
            async with asyncio.timeout_at(self._deadline):
                fetched = await fetch(
                    self._client,
                    f"{self._target.url}{path}",
                    headers={"Accept": "application/json", **self._target.headers},
                    max_bytes=MAX_BYTES,
                    gzip=False,
                    clock=time.time,
                    mono=time.monotonic,
                )
            answer = json.loads(fetched.body) if fetched.status == 200 else {}
        except (HTTPError, InvalidURL, TooLargeError, BadEncodingError, OSError, ValueError, RecursionError):
            return {}
        return answer if isinstance(answer, dict) else {}


def _identity(
    target: Target, version: Mapping[str, Any], models: Mapping[str, Any], info: Mapping[str, Any]
) -> Identity:
    listed = [entry for entry in _list(models, "data") if isinstance(entry, dict) and _text(entry, "id")]
    # LoRA adapters are listed beside the model that carries them and name it as their parent.
    bases = [entry for entry in listed if not entry.get("parent")]
    named = [entry for entry in listed if entry["id"] == target.model]
    chosen = named[0] if named else bases[0] if target.model is None and len(bases) == 1 else {}
    states = [state for state in _list(info, "internal_states") if isinstance(state, dict)]
    algorithm = _text(info, "speculative_algorithm")
    draft_tokens = "speculative_num_draft_tokens"
    # The internal state follows an adaptive K; the start arguments do not.
    verified = (_whole(states[0], draft_tokens) if states else None) or _whole(info, draft_tokens)
    return Identity(
        version=_text(version, "version") or _text(info, "version"),
        model=_text(chosen, "id"),
        model_root=_text(chosen, "root"),
        max_model_len=_whole(chosen, "max_model_len"),
        models=tuple(str(entry["id"]) for entry in listed),
        speculative_algorithm=algorithm,
        k=drafted(verified) if algorithm and verified else None,
    )


def _text(answer: Mapping[str, Any], key: str) -> str | None:
    value = answer.get(key)
    return value if isinstance(value, str) and value else None


def _whole(answer: Mapping[str, Any], key: str) -> int | None:
    value = answer.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _list(answer: Mapping[str, Any], key: str) -> list[Any]:
    value = answer.get(key)
    return value if isinstance(value, list) else []
