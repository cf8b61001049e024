"""Compare reading a metrics page by remembered series keys with prometheus_client's parser, on the real pages.

Run as `python -m benchmarks.parse_metrics`. Both must give the same samples before anything is timed; the two alternate
inside each of 5 rounds, and the medians of the rounds' process times are shown.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from probes.engines.detect import look, new_parser
from probes.engines.exposition import ExpositionParser

PAGES = Path(__file__).parents[1] / "tests" / "data" / "metrics"
ROUNDS = 5
REPEATS = 5
"""Pages read per timing."""


def eight_engines(page: str) -> str:
    """A one-engine vLLM page as eight data-parallel engines would show it."""
    lines: list[str] = []
    for line in page.split("\n"):
        copies = range(8) if 'engine="0"' in line else range(1)
        lines += [re.sub(r'engine="0"', f'engine="{number}"', line) for number in copies]
    return "\n".join(lines)


def pages() -> Iterator[tuple[str, str]]:
    """Name and text of every page that is timed."""
    for path in sorted(PAGES.glob("*.prom")):
        yield path.stem, path.read_text()
    name = "vllm-0.26.0-h200-k3-c32"
    yield f"{name}, as 8 engines", eight_engines((PAGES / f"{name}.prom").read_text())


def seconds(work: Callable[[], object]) -> float:
    """Process time of one call, mean of a few."""
    start = time.process_time()
    for _ in range(REPEATS):
        work()
    return (time.process_time() - start) / REPEATS


def samples_in(text: str) -> int:
    """Read a page with prometheus_client, to its last sample."""
    return sum(len(family.samples) for family in text_string_to_metric_families(text))


def samples_of(text: str) -> set[tuple[str, str, str]]:
    """What prometheus_client reads."""
    return {
        (sample.name, repr(sorted(sample.labels.items())), repr(sample.value))
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def check(text: str) -> None:
    """Stop unless both parsers read the same, the second time too."""
    parser = ExpositionParser(lambda name: name)
    for _ in range(2):
        ours = {
            (name, repr(sorted(labels.items())), repr(value))
            for name, series in parser.parse(text.encode()).samples.items()
            for labels, value in series
        }
        if ours != samples_of(text):
            raise SystemExit("the two parsers do not read the same samples")


def main() -> None:
    """Print one line a page."""
    write = sys.stdout.write
    write(f"{'page':42} {'kB':>6} {'client ms':>10} {'parse ms':>9} {'ratio':>6} {'whole ms':>9} {'ratio':>6}\n")
    for name, text in pages():
        check(text)
        body = text.encode()
        parser, reader = new_parser(), new_parser()
        parser.parse(body)
        look(body, reader)
        timed: dict[str, list[float]] = {"client": [], "parse": [], "whole": []}
        for _ in range(ROUNDS):
            timed["client"].append(seconds(partial(samples_in, text)))
            timed["parse"].append(seconds(partial(parser.parse, body)))
            timed["whole"].append(seconds(partial(look, body, reader)))
        client, parse, whole = (statistics.median(timed[key]) * 1000 for key in ("client", "parse", "whole"))
        write(
            f"{name:42} {len(body) / 1000:6.1f} {client:10.2f} {parse:9.3f} {client / parse:6.1f}"
            f" {whole:9.3f} {client / whole:6.1f}\n"
        )
    write(
        "client: prometheus_client, all families; parse: our samples; whole: our reading with histograms per engine\n"
    )


if __name__ == "__main__":
    main()
