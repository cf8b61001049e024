"""A second, independent closed loop against the live servers, to find settings and to check what specwatch measures.

Shares no code with `probes/load`: threads and the standard library only, whole answers instead of streams. Prints one
JSON line a cell: `python -m tests.live.measure URL --clients 1 2 4 --temperature 0 --seconds 8`.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pydoc_data.topics import topics

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Loopback only: proxy variables must not decide where the requests go."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One cell: rates by the server's counter over the window, counts over the whole cell (idle to idle)."""

    clients: int
    tok_s: float
    client_tokens: int
    server_tokens: float
    requests: int
    capped: int
    prompt_tokens: int
    drafts: float
    accepted_per_draft: float | None


def counters(url: str) -> dict[str, float]:
    """Totals by family over all series of the page; families that are absent are absent here too."""
    totals: dict[str, float] = {}
    with DIRECT.open(f"{url}/metrics", timeout=30) as answer:
        for line in answer.read().decode().splitlines():
            if line and not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                name = series.partition("{")[0]
                totals[name] = totals.get(name, 0.0) + float(value)
    return totals


def complete(url: str, prompt: str, options: Mapping[str, float | int]) -> dict[str, object]:
    """One non-streaming completion of the model `tiny`; the parsed answer."""
    body = json.dumps({"model": "tiny", "prompt": prompt, **options}).encode()
    request = urllib.request.Request(f"{url}/v1/completions", body, {"Content-Type": "application/json"})
    with DIRECT.open(request, timeout=300) as answer:
        parsed: dict[str, object] = json.load(answer)
    return parsed


def prompts(words: int) -> list[str]:
    """Stretches of the Python manual, each cut to `words` words."""
    texts = [topics[name].split() for name in sorted(topics)]
    return [" ".join(text[:words]) for text in texts if len(text) >= words]


def cell(url: str, clients: int, seconds: float, options: Mapping[str, float | int], words: int) -> Measured:
    """`clients` threads in a closed loop; the first 1.5 s are ramp, then `seconds` of window, then a drain."""
    texts = prompts(words)
    stop = threading.Event()
    answers: list[dict[str, object]] = []

    def client(number: int) -> None:
        turn = number
        while not stop.is_set():
            answers.append(complete(url, f"{turn} {time.time_ns()} {texts[turn * 7 % len(texts)]}", options))
            turn += clients

    before = counters(url)
    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    time.sleep(1.5)
    start, opened = time.monotonic(), counters(url)
    time.sleep(seconds)
    end, closed = time.monotonic(), counters(url)
    stop.set()
    for thread in threads:
        thread.join()
    after = counters(url)

    def moved(name: str) -> float:
        return after.get(name, 0.0) - before.get(name, 0.0)

    generated = "vllm:generation_tokens_total"
    drafts = moved("vllm:spec_decode_num_drafts_total")
    accepted = moved("vllm:spec_decode_num_accepted_tokens_total")
    usages = [answer["usage"] for answer in answers]
    return Measured(
        clients=clients,
        tok_s=round((closed[generated] - opened[generated]) / (end - start), 1),
        client_tokens=sum(usage["completion_tokens"] for usage in usages if isinstance(usage, dict)),
        server_tokens=moved(generated),
        requests=len(answers),
        capped=sum('"finish_reason": "length"' in json.dumps(answer) for answer in answers),
        prompt_tokens=sum(usage["prompt_tokens"] for usage in usages if isinstance(usage, dict)) // len(usages),
        drafts=drafts,
        accepted_per_draft=round(accepted / drafts, 3) if drafts else None,
    )


def main() -> None:
    """Measure the ladder given on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--words", type=int, default=100)
    given = parser.parse_args()
    options = {"temperature": given.temperature, "top_p": given.top_p, "max_tokens": given.max_tokens}
    for clients in given.clients:
        measured = cell(given.url, clients, given.seconds, options, given.words)
        sys.stdout.write(json.dumps(asdict(measured)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
