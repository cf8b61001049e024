"""What `specwatch` must get right against a real vLLM: who drafts, how many tokens came out, and whether it pays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.live.command import Ran, specwatch, sweep, traffic
from tests.live.configs import GREEDY, LADDER, SAMPLED, Arm, Sampling, write_config, write_watch_config
from tests.live.measure import counters
from tests.live.servers import DIRECT, K, Servers

pytestmark = pytest.mark.live

GENERATED = "vllm:generation_tokens_total"
DRAFTS = "vllm:spec_decode_num_drafts_total"
CLIENTS = 4
"""Of the live traffic; within the ladder."""
BUSY_MACHINE = {"client_limit", "concurrency_mismatch"}
"""What may void a cell here, where load, server and its front end share two cores with whatever else runs."""
TOKENS_APART = 0.02
CONCURRENCY_APART = 0.10
SAME_SERVER_APART = 0.03
"""Part of the noise that a sweep's own repeats cannot see."""


@dataclass(frozen=True, slots=True)
class Swept:
    """One sweep of both arms, and by how much the servers' own counters moved around it."""

    config: Path
    ran: Ran
    generated: dict[str, float]
    drafts: float

    @property
    def cells(self) -> list[dict[str, Any]]:
        """All cells, void ones included."""
        return list(self.ran.result["cells"])

    @property
    def ngram(self) -> dict[str, Any]:
        """The verdict on the n-gram arm."""
        return dict(self.ran.result["crossover"]["arms"]["ngram"])


def sweep_both(directory: Path, servers: Servers, sampling: Sampling) -> Swept:
    arms = (Arm("off", servers.off.url), Arm("ngram", servers.ngram.url))
    config = write_config(directory, arms, sampling)
    before = {arm.name: counters(arm.url) for arm in arms}
    ran = sweep(config)
    after = {arm.name: counters(arm.url) for arm in arms}
    assert ran.status == 0, ran.said
    return Swept(
        config=config,
        ran=ran,
        generated={name: after[name][GENERATED] - before[name][GENERATED] for name in after},
        drafts=after["ngram"][DRAFTS] - before["ngram"][DRAFTS],
    )


@pytest.fixture(scope="module")
def greedy(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return sweep_both(tmp_path_factory.mktemp("greedy"), servers, GREEDY)


@pytest.fixture(scope="module")
def sampled(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return sweep_both(tmp_path_factory.mktemp("sampled"), servers, SAMPLED)


@pytest.fixture(params=["greedy", "sampled"])
def swept(request: pytest.FixtureRequest) -> Swept:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Swept)
    return found


def valid(cells: Iterable[dict[str, Any]], arm: str | None = None) -> list[dict[str, Any]]:
    return [cell for cell in cells if not cell["void"] and arm in (None, cell["arm"])]


def test_check_names_engine_version_and_k_of_both_arms(servers: Servers, tmp_path: Path) -> None:
    config = write_config(tmp_path, (Arm("off", servers.off.url), Arm("ngram", servers.ngram.url)), GREEDY)
    ran = specwatch("check", "--config", config)
    assert ran.status == 0, ran.said
    with DIRECT.open(f"{servers.off.url}/version") as answer:
        version = json.load(answer)["version"]
    sections = {
        name: next(part for part in ran.out.split("\n\n") if f"arm {name}" in part) for name in ("off", "ngram")
    }
    for section in sections.values():
        assert f"vllm {version}" in section.lower()
    assert re.search(rf"\bK\W{{0,3}}{K}\b", sections["ngram"])
    assert re.search(r"speculation\s+off", sections["off"])


def once_under_load(servers: Servers, directory: Path, *, loaded: str) -> dict[str, dict[str, Any]]:
    """Both servers as `once` sees them while one of them (two at once would share two cores) has work."""
    urls = {"plain": servers.off.url, "drafting": servers.ngram.url}
    with traffic(urls[loaded], clients=CLIENTS):
        ran = specwatch("once", "--json", "--config", write_watch_config(directory, urls))
    assert ran.status == 2, "nothing was measured yet, so every verdict is unknown: " + ran.said
    endpoints = {endpoint["name"]: endpoint for endpoint in ran.result["endpoints"]}
    for endpoint in endpoints.values():
        assert endpoint["state"] == "ok", endpoint["reason"]
        assert endpoint["engine"] == "vllm"
        assert endpoint["verdict"] == "unknown"
    assert 0 < endpoints[loaded]["concurrency"] <= CLIENTS
    return endpoints


def test_once_sees_the_plain_server_work_without_drafting(servers: Servers, tmp_path: Path) -> None:
    speculation = once_under_load(servers, tmp_path, loaded="plain")["plain"]["speculation"]
    assert speculation["configured"] is False
    assert speculation["drafting"] is not True
    assert speculation["k"] is None
    assert speculation["acceptance_length"] is None


def test_once_sees_the_other_server_draft(servers: Servers, tmp_path: Path) -> None:
    speculation = once_under_load(servers, tmp_path, loaded="drafting")["drafting"]["speculation"]
    assert speculation["configured"] is True
    assert speculation["drafting"] is True
    assert speculation["k"] == K
    assert 1 < speculation["acceptance_length"] <= K + 1


def test_once_does_not_call_an_idle_server_drafting(servers: Servers, tmp_path: Path) -> None:
    config = write_watch_config(tmp_path, {"drafting": servers.ngram.url})
    (endpoint,) = specwatch("once", "--json", "--config", config).result["endpoints"]
    assert endpoint["speculation"]["configured"] is True
    assert endpoint["speculation"]["drafting"] is not True
    assert endpoint["running_max"] == 0


def test_a_sweep_measures_the_ladder_on_both_arms(swept: Swept) -> None:
    assert swept.ran.result["outcome"] == "measured"
    for arm in ("off", "ngram"):
        measured = {cell["rung"] for cell in valid(swept.cells, arm)}
        assert len(measured) >= len(LADDER) - 1, swept.ran.said
    codes = {reason["code"] for cell in swept.cells for reason in cell["void"]}
    assert codes <= BUSY_MACHINE, swept.ran.err
    assert swept.ran.result["arm_k"] == {"off": None, "ngram": K}
    assert swept.ran.result == json.loads(swept.config.with_name("result.json").read_text())


def test_every_cell_verifies_its_arm_from_the_counters(swept: Swept) -> None:
    for cell in valid(swept.cells, "off"):
        assert not cell["drafts"]
    for cell in valid(swept.cells, "ngram"):
        assert cell["drafts"] > 0
        assert cell["draft_tokens"] <= K * cell["drafts"]
        assert cell["accepted_tokens"] <= cell["draft_tokens"]


def test_the_client_and_the_server_count_the_same_tokens(swept: Swept) -> None:
    for cell in valid(swept.cells):
        assert cell["client_tokens"] == pytest.approx(cell["server_tokens"], rel=TOKENS_APART)


def test_cells_claim_no_more_than_the_servers_counted(swept: Swept) -> None:
    for arm, generated in swept.generated.items():
        claimed = sum(cell["server_tokens"] for cell in swept.cells if cell["arm"] == arm)
        assert 0 < claimed <= generated
    assert 0 < sum(cell["drafts"] for cell in swept.cells if cell["arm"] == "ngram") <= swept.drafts


def test_measured_concurrency_is_that_of_the_clients(swept: Swept) -> None:
    for cell in valid(swept.cells):
        assert cell["concurrency"] == pytest.approx(cell["rung"], rel=CONCURRENCY_APART)


def test_greedy_text_that_repeats_itself_makes_ngram_win(greedy: Swept) -> None:
    verdict = greedy.ngram
    assert verdict["verdict"] in ("always_faster", "crosses"), verdict["reasons"]
    assert verdict["reasons"]
    assert all(reason["code"] and reason["text"] for reason in verdict["reasons"])
    concurrency, ratio, low, high = verdict["speedup"][0]
    assert concurrency == pytest.approx(1, rel=0.2)
    assert 1 < low <= ratio <= high
    lengths = [1 + cell["accepted_tokens"] / cell["drafts"] for cell in valid(greedy.cells, "ngram")]
    assert min(lengths) > 1.5
    assert max(lengths) <= K + 1


def test_even_sampling_leaves_ngram_nothing_to_win(sampled: Swept) -> None:
    verdict = sampled.ngram
    assert verdict["reasons"]
    if verdict["verdict"] == "crosses":
        assert verdict["crossover"] < LADDER[1]
    else:
        assert verdict["verdict"] in ("never_faster", "unclear"), verdict
    last = verdict["speedup"][-1]
    assert last[1] < 1
    shares = [cell["capped_share"] for cell in valid(sampled.cells) if cell["rung"] == LADDER[-1]]
    assert any(share < 1 for share in shares), "some answers end by themselves when sampled"


def test_once_holds_live_traffic_against_the_sweep_that_won(servers: Servers, greedy: Swept) -> None:
    assert greedy.ngram["verdict"] in ("always_faster", "crosses")
    with traffic(servers.ngram.url, clients=CLIENTS):
        ran = specwatch("once", "--json", "--config", greedy.config)
    (endpoint,) = ran.result["endpoints"]
    assert endpoint["live_arm"] == "ngram"
    assert endpoint["crossover"]["for_arm"] == "ngram"
    assert endpoint["crossover"]["verdict"] == greedy.ngram["verdict"]
    if greedy.ngram["verdict"] == "always_faster":
        assert (ran.status, endpoint["verdict"]) == (0, "below"), ran.said
        assert endpoint["speedup_now"] > 1
    assert endpoint["alerting"] is False


def test_once_calls_traffic_above_where_the_sweep_lost(servers: Servers, sampled: Swept) -> None:
    with traffic(servers.ngram.url, clients=CLIENTS, temperature=1.0):
        ran = specwatch("once", "--json", "--config", sampled.config)
    (endpoint,) = ran.result["endpoints"]
    assert endpoint["crossover"]["verdict"] == sampled.ngram["verdict"]
    if sampled.ngram["verdict"] == "never_faster":
        assert (ran.status, endpoint["verdict"]) == (1, "above"), ran.said
        assert endpoint["speedup_now"] < 1
    else:
        assert endpoint["verdict"] in ("unknown", "inside", "above")


def test_a_server_against_itself_does_not_cross(servers: Servers, tmp_path: Path) -> None:
    arms = (Arm("off", servers.off.url), Arm("again", servers.off.url, speculation=False))
    ran = sweep(write_config(tmp_path, arms, SAMPLED, prompts="builtin"))
    assert ran.status == 0, ran.said
    verdict = ran.result["crossover"]["arms"]["again"]
    assert verdict["verdict"] != "crosses", verdict
    assert verdict["speedup"]
    # A 90% band misses one load in ten: of these four one now and then, two hardly ever.
    apart = [
        concurrency
        for concurrency, _ratio, low, high in verdict["speedup"]
        if low > 1 + SAME_SERVER_APART or high < 1 - SAME_SERVER_APART
    ]
    assert len(apart) <= 1, f"at {apart}: {verdict}"


def test_an_arm_that_does_not_draft_is_found_out(servers: Servers, tmp_path: Path) -> None:
    # One server as both arms: the config file only remarks on it, the counters must prove it.
    arms = (Arm("off", servers.off.url), Arm("ngram", servers.off.url))
    ran = sweep(write_config(tmp_path, arms, GREEDY, ladder=(1, 2)))
    assert ran.status == 5, ran.said
    assert "does not draft" in ran.said
    assert ran.result["crossover"] is None or "ngram" not in ran.result["crossover"]["arms"]
    claimed = [cell for cell in ran.result["cells"] if cell["arm"] == "ngram"]
    assert claimed
    for cell in claimed:
        assert "arm_not_drafting" in [reason["code"] for reason in cell["void"]]


def test_swapped_arms_are_refused_before_any_load(servers: Servers, tmp_path: Path) -> None:
    before = counters(servers.ngram.url)[GENERATED]
    arms = (Arm("off", servers.ngram.url), Arm("ngram", servers.off.url))
    ran = sweep(write_config(tmp_path, arms, GREEDY, ladder=(1, 2)))
    assert ran.status == 5, ran.said
    assert "arm off" in ran.said
    assert ran.result["cells"] == []
    assert counters(servers.ngram.url)[GENERATED] == before
