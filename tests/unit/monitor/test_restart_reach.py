"""A journal names where secrets are and never holds one, and a key that is lost does not stop a restoring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from monitor.service.restart_reach import reach_of, target_from
from tests.support.configs import sound

CONFIG = """\
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:8000"
model = "tiny"
api_key_env = "CHAT_KEY"
secret_headers = { X-Tenant-Key = "env:TENANT_KEY" }
headers = { X-Tenant = "bench" }
  [endpoint.probe]
  live_arm = "k3"
  allow_restart = true
  [[endpoint.arm]]
  name = "off"
  restart = "./switch.sh off"
  [[endpoint.arm]]
  name = "k3"
  restart = "./switch.sh k3"
  model = "tiny-k3"
"""


@pytest.fixture
def reach(tmp_path: Path) -> dict[str, object]:
    """As it comes back from the journal's file."""
    endpoint = sound(tmp_path, CONFIG).config.endpoint[0]
    made: dict[str, object] = json.loads(json.dumps(reach_of(endpoint, endpoint.arm[1])))
    return made


def test_the_way_to_the_server_survives_without_its_secrets(
    reach: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHAT_KEY", "s3cret")
    monkeypatch.setenv("TENANT_KEY", "t3nant")
    target, lost = target_from(reach)
    assert lost == ""
    assert (target.url, target.model) == ("http://127.0.0.1:8000", "tiny-k3")
    assert target.headers == {"X-Tenant": "bench", "X-Tenant-Key": "t3nant", "Authorization": "Bearer s3cret"}
    assert not {"s3cret", "t3nant"} & set(json.dumps(reach).replace('"', " ").split())


def test_a_key_that_cannot_be_read_is_named_and_done_without(
    reach: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CHAT_KEY", raising=False)
    monkeypatch.setenv("TENANT_KEY", "t3nant")
    target, lost = target_from(reach)
    assert target.headers == {"X-Tenant": "bench"}
    assert "variable CHAT_KEY is not set" in lost


@pytest.mark.parametrize("spoilt", [{}, {"endpoint": {}, "arm": {}}, {"endpoint": None, "arm": None}])
def test_anything_else_says_no_way(spoilt: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="does not say how to reach the server"):
        target_from(spoilt)
