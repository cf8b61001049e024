"""Asks a server the two things that only it can answer: whether it is healthy, and one short real completion."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

from probes.http import PROBE_USER_AGENT, HTTPError, InvalidURL, make_client, make_ssl_context
from probes.scrape.failures import shown
from probes.values import Target

HEALTH_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 120.0
"""A first answer after a start may wait for compilation."""
MAX_BYTES = 1_000_000
PROMPT = "Count on: one, two, three, four, one, two, three, four, one, two,"
"""Repeats itself, so that n-gram drafting finds something to draft."""
MAX_TOKENS = 16


class NoAnswer(Exception):
    """The server did not answer as one that serves does; the message says how."""


async def ask_health(target: Target) -> None:
    """Raises NoAnswer unless /health says 200 (or is not there, as behind some gateways)."""
    status, _ = await _send(target, "GET", "/health", None, HEALTH_TIMEOUT_S)
    if status not in (200, 404):
        raise NoAnswer(f"{shown(target.url)}/health answered {status}")


async def ask_completion(target: Target, model: str) -> int:
    """Output tokens of one short answer. Raises NoAnswer."""
    body: dict[str, Any] = {"model": model, "prompt": PROMPT, "max_tokens": MAX_TOKENS}
    path = f"{target.api_path}/completions"
    status, answer = await _send(target, "POST", path, body, ANSWER_TIMEOUT_S)
    if status in (404, 405):
        path = f"{target.api_path}/chat/completions"
        body = {
            "model": model,
            "messages": [{"role": "user", "content": PROMPT}],
            "max_tokens": MAX_TOKENS,
        }
        status, answer = await _send(target, "POST", path, body, ANSWER_TIMEOUT_S)
    where = f"{shown(target.url)}{path}"
    if status != 200:
        raise NoAnswer(f"{where} answered {status} to a short request")
    try:
        data = json.loads(answer)
        tokens = int(data["usage"]["completion_tokens"])
        if not data["choices"] or tokens < 1:
            raise ValueError("no token")
    except (ValueError, KeyError, TypeError) as error:
        raise NoAnswer(f"{where} answered 200, but not with a completion ({error})") from None
    return tokens


async def _send(target: Target, method: str, path: str, body: object, timeout_s: float) -> tuple[int, bytes]:
    url = f"{target.url}{path}"
    secure = target.url.lower().startswith("https:")
    try:
        context = make_ssl_context(target) if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with (
            asyncio.timeout(timeout_s),
            make_client(timeout_s=timeout_s, ssl_context=context, user_agent=PROBE_USER_AGENT) as client,
            client.stream(method, url, json=body, headers=dict(target.headers)) as response,
        ):
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    raise NoAnswer(f"{shown(url)} sent more than {MAX_BYTES:,} bytes")
            return response.status_code, bytes(content)
    except TimeoutError:
        raise NoAnswer(f"{shown(url)} did not answer within {timeout_s:g} s") from None
    except (HTTPError, InvalidURL, OSError) as error:
        raise NoAnswer(f"{shown(url)} could not be asked ({type(error).__name__})") from None
