"""`check` says where one arm's server has several API server processes and another's a single one."""

from __future__ import annotations

import pytest

from monitor.commands.check_arms import compare_arms
from monitor.commands.check_servers import Look
from monitor.commands.check_text import Remark
from monitor.config.model import ArmConfig, ProbeConfig
from probes.values import Identity, State, Target
from tests.unit.engines.pages import reading, real

ONE_OFF, FOUR_OFF = "vllm-0.26.0-h200-off-c32.prom", "vllm-0.26.0-h200-4api-off-c161.prom"
ONE_K3 = "vllm-0.26.0-h200-k3-c32.prom"
SGLANG_OFF, SGLANG_K3 = "sglang-0.5.15-h200-off-c32.prom", "sglang-0.5.15-h200-eagle3-idle.prom"


def remarks(**pages: str) -> list[Remark]:
    arms = [ArmConfig(name=name, url="http://127.0.0.1:1") for name in pages]
    looks = {
        name: Look(Target(name, "http://127.0.0.1:1"), State.OK, "", reading(real(page), 1.0), Identity())
        for name, page in pages.items()
    }
    probe = ProbeConfig(max_live_concurrency=1000.0)
    return list(compare_arms(arms, probe, looks, None))


def test_several_api_servers_beside_a_single_one_are_noted() -> None:
    (remark,) = remarks(off=FOUR_OFF, k3=ONE_K3)
    assert remark == Remark.note(remark.text)
    assert "several API server processes at off and a single one at k3" in remark.text


@pytest.mark.parametrize(("off", "k3"), [(ONE_OFF, ONE_K3), (SGLANG_OFF, SGLANG_K3)])
def test_like_front_ends_are_not(off: str, k3: str) -> None:
    assert remarks(off=off, k3=k3) == []
