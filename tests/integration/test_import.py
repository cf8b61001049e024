"""`specwatch import` and what follows: results from elsewhere decide about live traffic, or it is said why not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.store.db import open_store
from monitor.store.identities import save_identity
from monitor.store.sweeps import latest_crossover, load_cells, recent_sweeps
from probes.values import Identity
from tests.support.canned_server import CannedServer, canned_server, vllm_routes
from tests.unit.imports.records import drafting, saved, vllm

PAGE = "vllm-0.26.0-h200-k3-c32.prom"
"""Running 3 requests with K = 3."""
DATA = Path(__file__).parents[1] / "data" / "imports"
CURVES = {
    "off": ((0.125, 10.0), (0.5, 39.0), (2, 140.0), (8, 420.0)),
    "k3": ((0.125, 18.0), (0.5, 56.0), (2, 140.0), (8, 300.0)),
}
"""They cross at 2."""


@pytest.fixture
def server() -> Iterator[CannedServer]:
    with canned_server(vllm_routes(PAGE, models=("llama",))) as made:
        yield made


def config(folder: Path, url: str, more: str = "") -> Path:
    path = folder / "config.toml"
    path.write_text(
        f'[store]\npath = "{folder / "s.db"}"\n[scrape]\ntimeout_s = 2.0\n'
        f'[[endpoint]]\nname = "chat"\nurl = "{url}"\npool = "chat-8b"\n{more}'
    )
    return path


def table(folder: Path) -> Path:
    path = folder / "results.csv"
    rows = [f"{arm},{x},{tok_s},{x}" for arm, curve in CURVES.items() for x, tok_s in curve]
    path.write_text("\n".join(["arm,concurrency,output_tok_s,in_system", *rows]))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], catch_exceptions=False)


def stored(folder: Path, *files: Path, options: tuple[str, ...] = ()) -> Result:
    return run("import", *files, "--config", folder / "config.toml", "--pool", "chat-8b", *options)


def test_live_traffic_is_compared_with_them_at_once(tmp_path: Path, server: CannedServer) -> None:
    path = config(tmp_path, server.url)
    done = stored(tmp_path, table(tmp_path))
    assert done.exit_code == 0, done.output
    assert "k3 against off: crosses at 2" in done.stdout
    assert "taken for the server of chat" in done.stderr
    assert "the files do not name theirs" in done.stderr
    now = run("once", "--config", path, "--json")
    (chat,) = json.loads(now.stdout)["endpoints"]
    assert (chat["live_arm"], chat["verdict"], chat["concurrency"]) == ("k3", "above", 3.0)
    assert chat["crossover"]["value"] == pytest.approx(2, rel=0.02)
    assert chat["crossover"]["imported"] is True
    assert re.search(r"crossover of k3 2\.0\d? \[.*\], measured elsewhere \d+", run("once", "--config", path).stdout)
    assert now.exit_code == 1


def test_the_server_is_only_asked_what_it_is(tmp_path: Path, server: CannedServer) -> None:
    config(tmp_path, server.url)
    stored(tmp_path, table(tmp_path))
    assert {method for method, _, _ in server.asked} == {"GET"}


def test_it_is_marked_as_imported_with_its_files_and_its_age(tmp_path: Path, server: CannedServer) -> None:
    config(tmp_path, server.url)
    done = stored(tmp_path, DATA / "vllm" / "off.json", DATA / "vllm" / "k3.json", options=("--assume-same", "--json"))
    sweep = json.loads(done.stdout)
    notes = {note["code"]: note["text"] for note in sweep["crossover"]["notes"]}
    assert "Measured elsewhere with vllm bench serve, last run 2026-11-30" in notes["imported"]
    assert "off.json, k3.json" in notes["imported"]
    assert "--assume-same, although they measured .live/model, and it serves llama" in notes["assumed_server"]
    assert len(sweep["cells"]) == 6
    assert sweep["reason"] == "imported from off.json, k3.json (vllm bench serve)"
    with open_store(tmp_path / "s.db") as store:
        (record,) = recent_sweeps(store, 5)
        newest = latest_crossover(store, "chat-8b", None)
        assert newest is not None
        assert record.trigger == "import"
        assert newest.measured_at_s == pytest.approx(load_cells(store, record.id)[-1].started_at_s + 30.9, abs=1.0)


def test_the_same_files_again_are_refused(tmp_path: Path, server: CannedServer) -> None:
    config(tmp_path, server.url)
    path = table(tmp_path)
    stored(tmp_path, path)
    again = stored(tmp_path, path)
    assert again.exit_code == 2
    assert "has these results already, as sweep 1; nothing was stored." in again.stderr


def test_what_is_older_than_another_answer_or_than_the_config_allows_says_so(
    tmp_path: Path, server: CannedServer
) -> None:
    config(tmp_path, server.url)
    stored(tmp_path, table(tmp_path))
    month_s = 30 * 86_400
    old = tmp_path / "old.csv"
    old.write_text(table(tmp_path).read_text() + "\n")
    changed_s = old.stat().st_mtime - month_s
    os.utime(old, (changed_s, changed_s))
    done = stored(tmp_path, old)
    assert done.exit_code == 0, done.output
    assert "sweep 1 is 30 d newer; live traffic is compared with that one" in done.stderr
    assert "it is 30 d old and has expired (alerts.max_age = 14d)" in done.stderr


def test_results_of_another_model_are_refused(tmp_path: Path, server: CannedServer) -> None:
    config(tmp_path, server.url)
    done = stored(tmp_path, DATA / "guidellm")
    assert done.exit_code == 2
    assert "they measured sim-8b, and it serves llama" in done.stderr
    assert "--assume-same" in done.stderr


class TestServerThatDoesNotAnswer:
    NOBODY = "http://127.0.0.1:9"

    def test_without_a_memory_of_it_nothing_is_stored(self, tmp_path: Path) -> None:
        config(tmp_path, self.NOBODY)
        done = stored(tmp_path, table(tmp_path))
        assert done.exit_code == 2
        assert "chat does not answer and was never seen" in done.stderr

    def test_what_the_store_remembers_of_it_will_do(self, tmp_path: Path) -> None:
        config(tmp_path, self.NOBODY)
        with open_store(tmp_path / "s.db") as store:
            save_identity(store, "chat", 100.0, Identity(version="0.26.0", model="llama", model_root="llama"), "f00d")
        done = stored(tmp_path, table(tmp_path))
        assert done.exit_code == 0, done.output
        assert "as chat was last seen" in done.stderr
        with open_store(tmp_path / "s.db") as store:
            assert latest_crossover(store, "chat-8b", "f00d") is not None


class TestSweepOfAnotherHost:
    FILE = DATA / "specwatch" / "sweep.json"

    def test_it_keeps_its_cells_its_time_and_its_server(self, tmp_path: Path, server: CannedServer) -> None:
        config(tmp_path, server.url)
        done = stored(tmp_path, self.FILE)
        assert done.exit_code == 0, done.output
        assert "not compared with live traffic now" in done.stderr
        file = json.loads(self.FILE.read_text())
        with open_store(tmp_path / "s.db") as store:
            newest = latest_crossover(store, "chat-8b", file["fingerprint"])
            assert newest is not None
            assert newest.measured_at_s == file["ended_at_s"]
            assert newest.result.step_model is not None or file["crossover"]["step_model"] is None
            assert len(load_cells(store, newest.sweep_id)) == len(file["cells"])
        now = run("once", "--config", tmp_path / "config.toml", "--json")
        (chat,) = json.loads(now.stdout)["endpoints"]
        assert chat["verdict"] == "unknown"
        assert "is not what sweep 1 measured" in chat["verdict_reason"]

    def test_asked_to_it_is_compared_all_the_same(self, tmp_path: Path, server: CannedServer) -> None:
        config(tmp_path, server.url)
        stored(tmp_path, self.FILE, options=("--assume-same",))
        now = run("once", "--config", tmp_path / "config.toml", "--json")
        (chat,) = json.loads(now.stdout)["endpoints"]
        assert chat["crossover"] is not None
        assert "is not what sweep" not in chat["verdict_reason"]

    def test_what_the_first_import_advises_works(self, tmp_path: Path, server: CannedServer) -> None:
        config(tmp_path, server.url)
        assert "--assume-same compares it all the same" in stored(tmp_path, self.FILE).stderr
        again = stored(tmp_path, self.FILE, options=("--assume-same",))
        assert again.exit_code == 0, again.output
        assert stored(tmp_path, self.FILE, options=("--assume-same",)).exit_code == 2


def test_how_many_engines_shared_the_load_must_be_said_where_the_server_has_several(
    tmp_path: Path,
) -> None:
    page = (DATA.parents[0] / "metrics" / PAGE).read_text()
    second = "".join(
        line.replace('engine="0"', 'engine="1"') + "\n" for line in page.splitlines() if 'engine="0"' in line
    )
    held = {"duration": 20.0, "completed": 2}
    runs = [
        vllm(
            arm,
            x,
            tok_s,
            **held,
            model_id="llama",
            latencies=[10.0 * x, 10.0 * x],
            **(drafting() if arm != "off" else {}),
        )
        for arm, curve in CURVES.items()
        for x, tok_s in curve
    ]
    routes = {**vllm_routes(PAGE, models=("llama",)), "/metrics": (page + second).encode()}
    with canned_server(routes) as server:
        config(tmp_path, server.url)
        path = saved(tmp_path, *runs)
        done = stored(tmp_path, path)
        assert done.exit_code == 2
        assert "chat has 2 engines" in done.stderr
        assert "--engines 2" in done.stderr
        told = stored(tmp_path, path, options=("--engines", "2"))
        assert told.exit_code == 0, told.output
        assert "k3 against off: crosses at 1" in told.stdout
        by_engine = table(tmp_path)
        assert "--engines 2" in stored(tmp_path, by_engine).stderr, (
            "its concurrency is one engine's, its tok/s all engines'"
        )
        assert stored(tmp_path, by_engine, options=("--engines", "2")).exit_code == 0


def test_results_without_the_live_arm_do_not_put_out_a_good_answer(tmp_path: Path, server: CannedServer) -> None:
    probe = (
        '  [endpoint.probe]\n  baseline = "off"\n  live_arm = "k3"\n  ladder = [1, 2, 4]\n'
        f'  [[endpoint.arm]]\n  name = "off"\n  url = "{server.url}/off"\n'
        f'  [[endpoint.arm]]\n  name = "k3"\n  url = "{server.url}"\n'
    )
    path = config(tmp_path, server.url, probe)
    good = table(tmp_path)
    assert stored(tmp_path, good).exit_code == 0
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(good.read_text().replace("off,", "foo,").replace("k3,", "bar,"))
    done = stored(tmp_path, wrong, options=("--baseline", "foo"))
    assert done.exit_code == 2
    assert "live arm of chat-8b in the config is k3, and these arms are foo, bar" in done.stderr
    assert "--arm k3=FILE" in done.stderr
    (chat,) = json.loads(run("once", "--config", path, "--json").stdout)["endpoints"]
    assert chat["verdict"] == "above"


def test_a_wrong_import_can_be_undone_and_the_answer_before_counts_again(tmp_path: Path, server: CannedServer) -> None:
    path = config(tmp_path, server.url)
    good = table(tmp_path)
    day_ago_s = good.stat().st_mtime - 86_400
    os.utime(good, (day_ago_s, day_ago_s))
    stored(tmp_path, good)
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(good.read_text().replace("off,", "foo,").replace("k3,", "bar,"))
    assert "`specwatch import --forget 2` undoes it" in stored(tmp_path, wrong, options=("--baseline", "foo")).stderr
    gone = run("import", "--forget", 2, "--config", path)
    assert gone.exit_code == 0, gone.output
    assert "Forgot sweep 2, imported for pool chat-8b; the newest answer is now that of sweep 1." in gone.stdout
    (chat,) = json.loads(run("once", "--config", path, "--json").stdout)["endpoints"]
    assert (chat["live_arm"], chat["verdict"]) == ("k3", "above")
    again = run("import", "--forget", 2, "--config", path)
    assert (again.exit_code, "there is no sweep 2; nothing was removed." in again.stderr) == (2, True)


def test_what_was_measured_here_is_never_forgotten(tmp_path: Path, server: CannedServer) -> None:
    path = config(tmp_path, server.url)
    stored(tmp_path, table(tmp_path))
    with open_store(tmp_path / "s.db") as store, store.write() as db:
        db.execute("UPDATE sweeps SET \"trigger\" = 'command' WHERE id = 1")
    done = run("import", "--forget", 1, "--config", path)
    assert done.exit_code == 2
    assert "sweep 1 of pool chat-8b was measured here, not imported; nothing was removed." in done.stderr
    with open_store(tmp_path / "s.db") as store:
        assert latest_crossover(store, "chat-8b", None) is not None
    assert run("import", table(tmp_path), "--forget", 1, "--config", path).exit_code == 2


def test_results_without_any_verdict_are_said_to_be_so_and_never_stored(tmp_path: Path, server: CannedServer) -> None:
    config(tmp_path, server.url)
    few = tmp_path / "few.csv"
    few.write_text("arm,concurrency,output_tok_s\noff,1,100\noff,8,600\nk3,8,700\n")
    shown = run("crossover", few)
    assert shown.exit_code == 0
    assert "these results give no verdict. k3: " in shown.stderr
    done = stored(tmp_path, few)
    assert done.exit_code == 2
    assert "give no verdict, so nothing was stored. k3: " in done.stderr
    with open_store(tmp_path / "s.db") as store:
        assert recent_sweeps(store, 5) == []


def test_an_unknown_pool_and_files_that_cannot_be_read_store_nothing(tmp_path: Path, server: CannedServer) -> None:
    path = config(tmp_path, server.url)
    wrong = run("import", table(tmp_path), "--config", path, "--pool", "chat-7b")
    assert (wrong.exit_code, "did you mean chat-8b?" in wrong.stderr) == (2, True)
    log = tmp_path / "bench.log"
    log.write_text("INFO 11-30 12:00:00 starting\nERROR out of memory\n")
    assert stored(tmp_path, log).exit_code == 2
    assert stored(tmp_path).exit_code == 2
    assert not (tmp_path / "s.db").exists()
