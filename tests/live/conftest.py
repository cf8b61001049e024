"""Gives the live tier its two real servers, or the plain reason why there are none; asserts nothing itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.live.servers import MODEL, ROOT, VLLM, Servers, launched, wait_until_healthy


def why_not() -> str | None:
    """The reason why no vLLM can be started here; None where one can."""
    reason = ROOT / ".live" / "unavailable"
    if reason.exists():
        return reason.read_text().strip()
    if not VLLM.exists() or not (MODEL / "config.json").exists():
        return "no vLLM in .venv-vllm or no model in .live/model: `make test-live` puts both there"
    return None


@pytest.fixture(scope="session")
def vllm() -> None:
    """Skips (or fails, if demanded) where vLLM cannot run."""
    reason = why_not()
    if reason is not None:
        if os.environ.get("SPECWATCH_REQUIRE_LIVE") == "1":
            pytest.fail(f"SPECWATCH_REQUIRE_LIVE=1, but {reason}")
        pytest.skip(reason)


@pytest.fixture(scope="module")
def servers(vllm: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """The arms `off` and `ngram`, both healthy and idle, for the tests of one file."""
    logs = tmp_path_factory.mktemp("vllm")
    with (
        launched("off", logs / "off.log", speculative=False) as off,
        launched("ngram", logs / "ngram.log", speculative=True) as ngram,
    ):
        wait_until_healthy(off)
        wait_until_healthy(ngram)
        yield Servers(off, ngram)
