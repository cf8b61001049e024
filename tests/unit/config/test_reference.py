"""`config.toml` at the repository root is the reference: complete, loadable, and true about its defaults."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from monitor.config.load import load_config
from monitor.config.model import Config
from monitor.config.shape import TABLES
from tests.support.configs import problems

REFERENCE = Path(__file__).parents[3] / "config.toml"
TEXT = REFERENCE.read_text(encoding="utf-8")
_OFF = re.compile(r"^(\s*)#(?=\[|[a-z_]+ = )")
_LINE = re.compile(
    r"^\s*#?(?P<key>[a-z_]+) = (?P<value>.+?)\s*# (?P<claim>required|default (?P<default>none|\S+))[:;]?(\s|$)"
)
_HEADER = re.compile(r"^\s*#?\[+([a-z.]+)\]+$")


def _lines() -> list[tuple[tuple[str, ...], int, re.Match[str]]]:
    """Table, line index and match of every key line, active or off."""
    table: tuple[str, ...] = ()
    found = []
    for index, line in enumerate(TEXT.splitlines()):
        if header := _HEADER.match(line):
            table = tuple(header[1].split("."))
        elif re.match(r"^\s*#?[a-z_]+ = ", line):
            match = _LINE.match(line)
            assert match is not None, f"line {index + 1} does not state its default: {line}"
            found.append((table, index, match))
    return found


def _all_on(text: str) -> str:
    return "\n".join(_OFF.sub(r"\1", line) for line in text.splitlines())


def test_it_loads_as_it_is_and_without_notes() -> None:
    loaded = load_config(REFERENCE)
    assert loaded.notes == ()
    assert loaded.config.endpoint[0].probe is not None
    assert loaded.config.endpoint[0].probe.schedule is None, "a fresh config must never load a server by itself"


def test_every_key_of_the_models_is_in_it() -> None:
    seen = {(table, match["key"]) for table, _, match in _lines()}
    wanted = {
        (table, field)
        for table, (_, model) in TABLES.items()
        for field in model.model_fields
        if table and (*table, field) not in TABLES
    }
    assert wanted - seen == set()
    assert seen - wanted == set()


def test_every_stated_default_is_the_models_default() -> None:
    for table, index, match in _lines():
        info = TABLES[table][1].model_fields[match["key"]]
        where = f"line {index + 1}, {match['key']}"
        default: Any = info.get_default(call_default_factory=True, validated_data={})
        if match["claim"] == "required":
            assert default is PydanticUndefined, where
        elif match["default"].rstrip(":;") == "none":
            assert default is None, where
        else:
            assert tomllib.loads(f"x = {match['default'].rstrip(':;')}")["x"] == default, where


def test_with_every_key_on_it_has_the_right_shape() -> None:
    config = Config.model_validate(tomllib.loads(_all_on(TEXT)))
    assert len(config.channel) == 2


@pytest.mark.parametrize("index", [i for _, i, m in _lines() if TEXT.splitlines()[i].lstrip().startswith("#")])
def test_each_key_that_is_off_can_be_switched_on_alone(index: int, tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    for name in ("ca.pem", "client.pem", "client.key"):
        (tmp_path / "tls" / name).touch()
    lines = TEXT.splitlines()
    chosen = lines[index]
    header = max((i for i in range(index) if _HEADER.match(lines[i])), default=0)
    required = [i for i in range(header + 1, index) if lines[i].startswith("#") and "# required" in lines[i]]
    switched_on = [index, header, *required]
    if "client_key" in chosen:
        switched_on.append(index - 1)
    if chosen.lstrip().startswith("#max_cost"):
        switched_on.append(index - 1)
    if lines[header].startswith("#[[channel]]") and "url" not in chosen:
        switched_on.append(next(i for i in range(header, len(lines)) if lines[i].startswith("#url_env")))
    for i in switched_on:
        lines[i] = _OFF.sub(r"\1", lines[i])
    found = problems(tmp_path, "\n".join(lines))
    said = {(problem.key.rsplit(".", 1)[-1], problem.message.split(":")[0]) for problem in found}
    if "restart = " in chosen:
        assert {key for key, _ in said} == {"restart", "url", 'arm[0] "off"'}, "and nothing but what restarting needs"
    elif chosen.lstrip().startswith(("#before", "#after")):
        assert {message[:6] for _, message in said} == {"has no"}, "one of the two without the other"
    elif lines[header].startswith("[[channel]]") and chosen.startswith(("#name", "#kind")):
        assert all("is missing" in problem.message for problem in found)
    else:
        assert found == ()
