"""The configs that the pages show can be copied: they load as they are, without a note."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.configs import sound

ROOT = Path(__file__).parents[3]
ENDPOINT = '[[endpoint]]\nname = "chat"\nurl = "http://10.0.0.5:8000"\n'


def example(page: str) -> str:
    """The page's first TOML block that has a probe in it."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return next(str(block) for block in blocks if "[endpoint.probe]" in block)


@pytest.mark.parametrize(("page", "above"), [("README.md", ""), ("docs/sweeps.md", ENDPOINT)])
def test_a_shown_config_loads(tmp_path: Path, page: str, above: str) -> None:
    loaded = sound(tmp_path, above + example(page))
    assert loaded.notes == ()
    assert [arm.name for arm in loaded.config.endpoint[0].arm] == ["off", "k3"]


def test_the_page_on_sweeps_names_every_budget_and_every_exit_code() -> None:
    page = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")
    for key in ("window", "max_minutes", "max_total_tokens", "max_cost", "backoff_minutes", "resume_hours", "drain_s"):
        assert f"`{key}`" in page
    codes = re.findall(r"^\| (\d) \| ", page, re.MULTILINE)
    assert codes == ["0", "2", "3", "4", "5", "6", "7"]
