"""Writes the config files and prompts of the live tier; the settings that make n-gram win or lose stand here, once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics

from tests.live.servers import MODEL_NAME

PROMPT_WORDS = 40
"""About 140 tokens. vLLM's gauges do not show a request while its prompt is read; short prompts keep that short."""
LADDER = (1, 2, 4, 8)
SCRAPE = ("[scrape]", "interval_s = 10.0", "timeout_s = 9.0")
"""An overloaded machine takes seconds for a page that is read in 50 ms otherwise."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm as the config names it; `speculation` None leaves the default of its role."""

    name: str
    url: str
    speculation: bool | None = None


@dataclass(frozen=True, slots=True)
class Sampling:
    """What the load asks for."""

    temperature: float
    max_tokens: int


GREEDY = Sampling(temperature=0.0, max_tokens=256)
"""Dummy weights repeat themselves: the n-gram drafter is right nine times out of ten."""
SAMPLED = Sampling(temperature=1.0, max_tokens=128)
"""Dummy weights sample evenly from the vocabulary: every third or fourth step drafts, and is nearly never right.
One token in 512 ends an answer, so about every fifth ends by itself."""


def write_prompts(path: Path) -> None:
    """Stretches of the manual that CPython carries for `help()`: real text that is there on every machine."""
    texts = (topics[name].split() for name in sorted(topics))
    lines = [json.dumps({"prompt": " ".join(words[:PROMPT_WORDS])}) for words in texts if len(words) >= PROMPT_WORDS]
    path.write_text("\n".join(lines) + "\n")


def write_config(
    directory: Path,
    arms: tuple[Arm, ...],
    sampling: Sampling,
    *,
    ladder: tuple[int, ...] = LADDER,
    repeats: int = 2,
    cell_s: float = 6.0,
    prompts: str | None = None,
) -> Path:
    """`config.toml` of one endpoint `tiny`, whose baseline is the first arm and whose live arm, and URL, the last."""
    directory.mkdir(parents=True, exist_ok=True)
    if prompts is None:
        prompts = str(directory / "prompts.jsonl")
        write_prompts(Path(prompts))
    lines = [
        "[store]",
        'path = "live.db"',
        *SCRAPE,
        "[[endpoint]]",
        'name = "tiny"',
        f'url = "{arms[-1].url}"',
        f'model = "{MODEL_NAME}"',
        'hardware = "cpu"',
        "[endpoint.probe]",
        f'baseline = "{arms[0].name}"',
        f'live_arm = "{arms[-1].name}"',
        f"ladder = {list(ladder)}",
        f"repeats = {repeats}",
        f"cell_s = {cell_s}",
        "warmup_s = 3.0",
        "settle_s = 0.0",
        "refine_octaves = 0.0",
        f"max_tokens = {sampling.max_tokens}",
        f"temperature = {sampling.temperature}",
        f"prompts = {json.dumps(prompts)}",
    ]
    for arm in arms:
        lines += ["[[endpoint.arm]]", f'name = "{arm.name}"', f'url = "{arm.url}"']
        if arm.speculation is not None:
            lines.append(f"speculation = {str(arm.speculation).lower()}")
    path = directory / "config.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_restart_config(directory: Path, url: str, switch: str, *, ladder: tuple[int, ...]) -> Path:
    """`config.toml` of one server that `switch ARM` restarts as `off` or `ngram`; its hooks write DIR/hooks."""
    directory.mkdir(parents=True, exist_ok=True)
    prompts = directory / "prompts.jsonl"
    write_prompts(prompts)
    lines = [
        "[store]",
        'path = "live.db"',
        *SCRAPE,
        "[[endpoint]]",
        'name = "tiny"',
        f'url = "{url}"',
        f'model = "{MODEL_NAME}"',
        'hardware = "cpu"',
        "[endpoint.probe]",
        "allow_restart = true",
        'baseline = "off"',
        'live_arm = "ngram"',
        f"before = {json.dumps(f'echo before >> {directory}/hooks')}",
        f"after = {json.dumps(f'echo after >> {directory}/hooks')}",
        "drain_s = 2.0",
        "start_timeout_s = 400.0",
        "hook_timeout_s = 100.0",
        f"ladder = {list(ladder)}",
        "repeats = 2",
        "cell_s = 5.0",
        "warmup_s = 2.0",
        "settle_s = 0.0",
        "refine_octaves = 0.0",
        f"max_tokens = {GREEDY.max_tokens}",
        f"temperature = {GREEDY.temperature}",
        f"prompts = {json.dumps(str(prompts))}",
    ]
    for arm in ("off", "ngram"):
        lines += ["[[endpoint.arm]]", f'name = "{arm}"', f"restart = {json.dumps(f'{switch} {arm}')}"]
    path = directory / "config.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_watch_config(directory: Path, urls: dict[str, str]) -> Path:
    """`config.toml` with one unprobed endpoint a server."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = list(SCRAPE)
    for name, url in urls.items():
        lines += ["[[endpoint]]", f'name = "{name}"', f'url = "{url}"']
    path = directory / "config.toml"
    path.write_text("\n".join(lines) + "\n")
    return path
