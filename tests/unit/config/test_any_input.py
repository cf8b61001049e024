"""Whatever the file holds, loading it works or raises ConfigError, and a secret in the wrong place stays unsaid."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.config.errors import ConfigError, explain
from monitor.config.load import load_config
from monitor.config.shape import TABLES
from tests.support.configs import SOUND, write

SECRET = "sk-do-not-show"
_SCALARS = st.one_of(
    st.sampled_from(
        ['"a"', "true", "0", "-1", "1.5", "nan", "inf", "9223372036854775807", "1979-05-27", "'''\nx\n'''"]
    ),
    st.text(max_size=12).map(lambda text: "'" + "".join(c for c in text if c.isprintable() and c != "'") + "'"),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        inner.map(lambda value: f"{{ x = {value} }}"),
    ),
    max_leaves=4,
)
_KEYS = sorted({field for _, model in TABLES.values() for field in model.model_fields} | {"nonsense", "URL"})


@given(line=st.integers(0, SOUND.count("\n")), key=st.sampled_from(_KEYS), value=_VALUES)
@settings(max_examples=300)
def test_any_key_with_any_value_anywhere_is_judged_in_words(line: int, key: str, value: str) -> None:
    lines = SOUND.splitlines()
    _load_or_explain("\n".join([*lines[:line], f"{key} = {value}", *lines[line:]]))


@given(text=st.text(max_size=60))
def test_any_text_at_all_is_judged_in_words(text: str) -> None:
    _load_or_explain(text)


@pytest.mark.parametrize("form", [f'"{SECRET}"', f'["{SECRET}"]', f'{{ a = "{SECRET}" }}', f'"http://{SECRET}@h"'])
def test_a_secret_at_any_key_is_not_repeated(tmp_path: Path, form: str) -> None:
    """Except where a name, time or path is meant: those have to be shown to be mended."""
    shown = {"name", "pool", "baseline", "live_arm", "schedule", "window", "timezone", "max_age", "keep_readings"}
    shown |= {"path", "prompts", "ca_file", "client_cert", "client_key"}
    for table, (header, model) in TABLES.items():
        for field in {*model.model_fields, "key", "token"} - shown if table else ():
            said = _said(write(tmp_path, f"{_PARENT.get(header, '')}{header}\n{field} = {form}\n"))
            assert SECRET not in said, (header, field)
            assert "problem" in said or field in _TEXTS


_PARENT = dict.fromkeys(("[endpoint.probe]", "[[endpoint.arm]]"), '[[endpoint]]\nname = "a"\nurl = "http://h"\n')
_TEXTS = {"metrics_host"}
"""Any text will do for these, in a table that needs nothing else."""


def _load_or_explain(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        _said(path)


def _said(path: Path) -> str:
    """What loading the file says: nothing where it is sound."""
    try:
        load_config(path)
    except ConfigError as error:
        return explain(error) + str(error) + repr(error.problems)
    return ""
