"""docs/cells.md lists every reason that a cell can get, and none that it cannot."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_page_lists_exactly_the_codes_that_exist() -> None:
    room = ROOT / "probes/sweep"
    sources = [*room.glob("judge_*.py"), room / "verify.py", room / "limits.py"]
    code = "\n".join(path.read_text() for path in sources)
    made = set(re.findall(r'Reason\("(\w+)"', code)) | set(re.findall(r'DRAFTING = "(\w+)"', code))
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/cells.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(made)
