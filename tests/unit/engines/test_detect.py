"""What a 200 answer turned out to be, by name and with a cure."""

from __future__ import annotations

import pytest

from probes.values import State
from tests.unit.engines.pages import real, see

HELP_ONLY = b"# HELP vllm:num_requests_running Running.\n# TYPE vllm:num_requests_running gauge\n"


@pytest.mark.parametrize(
    ("body", "state", "words"),
    [
        (b"", State.EMPTY, "empty"),
        (b"\n \n", State.EMPTY, "empty"),
        (HELP_ONLY, State.EMPTY, "--disable-log-stats"),
        (b"# just a comment\n", State.EMPTY, "comments only"),
        (HELP_ONLY + b"python_info 1\n", State.EMPTY, "--disable-log-stats"),
        (
            b'python_info{version="3.12"} 1\nhttp_request_duration_highr_seconds_count 4\n',
            State.NOT_AN_ENGINE,
            "--disable-log-stats",
        ),
        (b'litellm_requests_metric_total{model="m"} 3\npython_info 1\n', State.NOT_AN_ENGINE, "LiteLLM"),
        (b'node_cpu_seconds_total{cpu="0"} 3\n', State.NOT_AN_ENGINE, "node exporter"),
        (b"something_else 3\n", State.NOT_AN_ENGINE, "something_else"),
        (b"<html><body>hello</body></html>\n", State.NOT_AN_ENGINE, "text format"),
        (b'{"object": "list"}\n', State.NOT_AN_ENGINE, "text format"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", State.NOT_AN_ENGINE, "not text"),
        (b"vllm:lora_requests_info 3\n", State.EMPTY, "filtered"),
        (b"sglang:gen_throughput 3\n", State.EMPTY, "filtered"),
        (b'vllm:num_requests_running{server="http://a"} 3\n', State.EMPTY, "incomplete"),
    ],
)
def test_named_states(body: bytes, state: State, words: str) -> None:
    seen = see(body)
    assert seen.state is state
    assert words in seen.reason
    assert seen.facts is None or seen.facts.incomplete


def test_a_page_cut_inside_a_line_is_not_used() -> None:
    body = real("vllm-0.26.0-h200-k5-c32.prom")
    seen = see(body[: body.rindex(b"http_requests_total") + 40])
    assert seen.state is State.EMPTY
    assert "middle of a line" in seen.reason


def test_a_whole_page_without_its_last_line_feed_is_forgiven() -> None:
    assert see(real("vllm-0.26.0-h200-k5-c32.prom").rstrip(b"\n")).state is State.OK
