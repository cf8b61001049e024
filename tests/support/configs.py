"""Writes small configs for tests and gives back what loading them says."""

from __future__ import annotations

from pathlib import Path

from monitor.config.errors import ConfigError, Problem
from monitor.config.load import Loaded, load_config

SOUND = """\
[scrape]
interval_s = 5.0
timeout_s = 4.0

[[endpoint]]
name = "chat"
url = "http://127.0.0.1:8000"

  [endpoint.probe]
  baseline = "off"
  live_arm = "k3"
  ladder = [1, 2, 4]

  [[endpoint.arm]]
  name = "off"
  url = "http://127.0.0.1:8001"

  [[endpoint.arm]]
  name = "k3"
  url = "http://127.0.0.1:8000"

[alerts]
tolerated_loss_pct = 3.0

[[channel]]
name = "oncall"
kind = "webhook"
url_env = "ONCALL"
"""


def write(folder: Path, text: str) -> Path:
    """A config file in `folder`."""
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def sound(folder: Path, text: str = SOUND) -> Loaded:
    """Load a config that must be sound."""
    return load_config(write(folder, text))


def edited(old: str, new: str, text: str = SOUND) -> str:
    """`text` with one piece replaced, which must be there."""
    assert old in text, old
    return text.replace(old, new, 1)


def restartable(text: str = SOUND) -> str:
    """The sound config with its two arms brought up by restarting the endpoint's one server."""
    text = edited('url = "http://127.0.0.1:8001"', 'restart = "./serve off"', text)
    text = edited('name = "k3"\n  url = "http://127.0.0.1:8000"', 'name = "k3"\n  restart = "./serve k3"', text)
    return edited("ladder = [1, 2, 4]", "ladder = [1, 2, 4]\nallow_restart = true", text)


def problems(folder: Path, text: str) -> tuple[Problem, ...]:
    """What is wrong with a config; none where it loads."""
    try:
        sound(folder, text)
    except ConfigError as error:
        return error.problems
    return ()


def only_problem(folder: Path, text: str) -> Problem:
    """The one thing that is wrong with a config."""
    found = problems(folder, text)
    assert len(found) == 1, found
    return found[0]
