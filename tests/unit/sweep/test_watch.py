"""After a break-off the server is watched until our requests are gone, and what remains is said in words."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from probes.sweep import watch
from probes.sweep.watch import ForeignGuard, ForeignTraffic, GaugeWatch, idle_reading, settled
from probes.values import EngineKind, EngineReading, Reading, State

UNTOLD = -1.0
"""A page without the gauge."""


class Pages:
    """A scraper that reads these loads in order, the last one for ever; None is a page that cannot be read."""

    def __init__(self, *loads: float | None) -> None:
        self._loads = list(loads)
        self.reads = 0

    async def read(self) -> Reading:
        self.reads += 1
        load = self._loads.pop(0) if len(self._loads) > 1 else self._loads[0]
        if load == UNTOLD:
            return Reading("t", 0.0, 0.0, State.OK, engines=(EngineReading("0"),))
        if load is None:
            return Reading("t", 0.0, 0.0, State.DOWN, "connection refused")
        return Reading("t", 0.0, 0.0, State.OK, engines=(EngineReading("0", running=load, waiting=0),))


async def test_a_server_that_empties_is_settled() -> None:
    pages = Pages(8, 3, 0, 9)
    assert await settled(pages, "off") is None
    assert pages.reads == 3


async def test_others_requests_may_stay() -> None:
    assert await settled(Pages(8, 2), "off", foreign=2) is None


async def test_ours_that_stay_are_told() -> None:
    text = await settled(Pages(8), "off", bound_s=0.2, foreign=2)
    assert text is not None
    assert text.startswith("arm off still had 8 requests in the system 0 s after our streams were closed (2 were not")
    assert "proxy" in text


async def test_a_page_that_is_gone_leaves_it_unknown() -> None:
    text = await settled(Pages(None), "off", bound_s=0.2)
    assert text is not None
    assert "is not known" in text
    assert "connection refused" in text


async def test_a_page_without_the_gauge_leaves_it_unknown_too() -> None:
    text = await settled(Pages(UNTOLD), "off", bound_s=0.2)
    assert text is not None
    assert "is not known" in text


async def test_a_page_that_comes_back_is_believed() -> None:
    assert await settled(Pages(None, 4, None, 0), "off") is None


def test_foreign_traffic_says_where_and_how_much() -> None:
    guard = ForeignGuard("off", 1.0)
    busy = Reading("t", 0.0, 0.0, State.OK, engines=(EngineReading("0", running=7, waiting=1),))
    guard.check(busy, ours=4)
    with pytest.raises(ForeignTraffic) as caught:
        guard.check(busy, ours=4)
    assert (caught.value.arm, caught.value.foreign) == ("off", 4)


def sglang(running: float, tokens: float, *, live: bool = True) -> Reading:
    """A page whose gauge is its last report's and whose counter is of now."""
    engine = EngineReading(
        "0",
        running=running,
        waiting=0,
        generation_tokens=tokens,
        generation_tokens_live=live,
        prompt_tokens=50.0,
        finished=2.0,
    )
    return Reading("t", 0.0, 0.0, State.OK, engine_kind=EngineKind.SGLANG, engines=(engine,))


@dataclass
class Script:
    """A scraper that reads these pages in order, the last one for ever."""

    pages: list[Reading]

    async def read(self) -> Reading:
        return self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]


class Ours:
    """Nothing of ours in flight."""

    def take_peak(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("pages", "live", "idle"),
    [
        ([(7.0, 900.0)], True, True),
        ([(7.0, 900.0)], False, False),
        ([(7.0, 900.0 + more // 2) for more in range(1000)], True, False),
    ],
)
async def test_on_sglang_counters_that_stand_still_prove_an_idle_server_before_its_gauge_does(
    monkeypatch: pytest.MonkeyPatch, pages: list[tuple[float, float]], live: bool, idle: bool
) -> None:
    monkeypatch.setattr(watch, "STILL_SGLANG_S", 0.3)
    monkeypatch.setattr(watch, "IDLE_BOUND_SGLANG_S", 5.0 if idle else 1.0)
    _, was_idle = await idle_reading(Script([sglang(*page, live=live) for page in pages]), "off", None)
    assert was_idle is idle


async def test_a_gauge_of_an_earlier_load_is_nobodys_traffic() -> None:
    before = sglang(7.0, 900.0)
    looks = GaugeWatch(Script([before]), Ours(), "off", 0.0, before)
    for _ in range(4):
        await looks.look()
    moving = GaugeWatch(Script([sglang(7.0, 901.0 + more) for more in range(4)]), Ours(), "off", 0.0, before)
    await moving.look()
    with pytest.raises(ForeignTraffic):
        await moving.look()
