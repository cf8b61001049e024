"""Say which engine wrote a page, or what else the page is; pure, so every named state can be tested from bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from probes.engines import sglang, vllm
from probes.engines.catalogue import PageFacts
from probes.engines.exposition import ExpositionParser, NotTextError, Page
from probes.values import State

_WANTED = vllm.TABLE.names() | sglang.TABLE.names()
_DECLARED = re.compile(r"^# (?:HELP|TYPE) (?:vllm:|sglang[:_])", re.MULTILINE)
_SERIES_NAME = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?=[{ \t])", re.MULTILINE)

FOREIGN = (
    ("litellm_", "a LiteLLM gateway's page; scrape the model server behind it"),
    ("node_", "a node exporter's page, not a model server's"),
    ("DCGM_", "a GPU exporter's page, not a model server's"),
    ("sglang_router_", "an SGLang router's page; scrape the workers behind it"),
    ("smg_", "an SGLang gateway's page; scrape the workers behind it"),
    ("ray_", "Ray's own metrics page; set metrics_url to the model server's page"),
    ("envoy_", "an Envoy proxy's page; scrape the model server behind it"),
    ("nginx_", "an nginx page; scrape the model server behind it"),
    ("tgi_", "a TGI server's page; vLLM and SGLang are the engines that are read"),
    ("llamacpp:", "a llama.cpp server's page; vLLM and SGLang are the engines that are read"),
    ("nv_inference_", "a Triton server's page; vLLM and SGLang are the engines that are read"),
)
"""First letters of the names that known strangers expose, and what to do about them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a 200 page turned out to be; `facts` only where it is an engine's."""

    state: State
    reason: str = ""
    facts: PageFacts | None = None


def select(name: str) -> str | None:
    """The name to read a series under, None where no adapter reads it."""
    name = sglang.canonical(name)
    return name if name in _WANTED or (name.startswith(vllm.SPEC_PREFIX) and not name.endswith("_created")) else None


def new_parser() -> ExpositionParser:
    """A parser for one target's pages."""
    return ExpositionParser(select)


def look(body: bytes, parser: ExpositionParser) -> Seen:
    """Read one 200 page. Missing families are a state with its reason, never zeros."""
    if not body.strip():
        return Seen(State.EMPTY, "the page is empty")
    try:
        page = parser.parse(body)
    except NotTextError as error:
        return Seen(State.NOT_AN_ENGINE, f"the page is not text in the Prometheus format ({error})")
    facts = _read(page)
    if facts is None:
        return _stranger(body.decode("utf-8"), page)
    if page.cut_mid_line:
        return Seen(State.EMPTY, "the page was cut off in the middle of a line", facts)
    if facts.incomplete:
        return Seen(State.EMPTY, f"the page is incomplete, cut off or filtered: {facts.incomplete}", facts)
    if facts.sleeping:
        return Seen(State.SLEEPING, f"asleep ({facts.sleeping})", facts)
    return Seen(State.OK, "", facts)


def _read(page: Page) -> PageFacts | None:
    if any(name.startswith(vllm.TABLE.prefix) for name in page.samples):
        return vllm.read(page.samples, page.declares)
    if any(name.startswith(sglang.TABLE.prefix) for name in page.samples):
        return sglang.read(page.samples)
    return None


def _stranger(text: str, page: Page) -> Seen:
    """Name a page without a single series that an adapter reads."""
    if page.sample_lines == 0 and page.malformed_lines:
        return Seen(State.NOT_AN_ENGINE, "the page is not in the Prometheus text format; check metrics_url")
    names = dict.fromkeys(_SERIES_NAME.findall(text))
    if any(name.startswith(("vllm:", "sglang:", "sglang_num_")) for name in names):
        return Seen(State.EMPTY, "the page has an engine's names but none of those that are read: is it filtered?")
    if _DECLARED.search(text):
        return Seen(
            State.EMPTY,
            "the page declares an engine's metrics but shows no values: was it started with --disable-log-stats?",
        )
    if page.sample_lines == 0:
        return Seen(State.EMPTY, "the page has comments only and no values")
    for start, what in FOREIGN:
        if any(name.startswith(start) for name in names):
            return Seen(State.NOT_AN_ENGINE, f"this is {what}")
    if "http_request_duration_highr_seconds_count" in names:
        return Seen(
            State.NOT_AN_ENGINE,
            "an API server's page without any vllm: series: vLLM shows that with --disable-log-stats",
        )
    shown = ", ".join(list(names)[:3])
    return Seen(State.NOT_AN_ENGINE, f"the page has no vllm: or sglang: metrics (it has {shown} ...)")
