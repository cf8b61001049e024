"""`specwatch report` on a stored day: the answer, what it cost, and one page that needs nothing else."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.config.load import load_config
from monitor.report.page import page
from monitor.service.reporting import endpoint_reports
from monitor.store.db import open_store
from monitor.store.identities import save_identity
from monitor.store.readings import append_readings
from probes.values import Identity, Reason
from tests.support.drift import SWEPT, stored_h200
from tests.support.records import a_failed_reading, a_reading, an_engine
from tests.support.stored_day import CONFIG, DAY_S, fill
from tests.support.stored_sweeps import begun, measured


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config and a store with a sweep and the day up to now, noon in the middle of it."""
    made = tmp_path_factory.mktemp("day")
    (made / "config.toml").write_text(CONFIG, encoding="utf-8")
    fill(made / "specwatch.db", time.time())
    return made


def run(folder: Path, *args: str) -> Result:
    return CliRunner().invoke(main, ["report", "--config", str(folder / "config.toml"), *args])


def test_the_text_says_what_the_day_cost_and_what_would_have_been_better(folder: Path) -> None:
    result = run(folder, "chat")
    assert result.exit_code == 0
    text = result.stdout
    assert text.startswith("chat (pool chat-70b), 20")
    assert re.search(r"over 24\.0 h: 3\d% above the crossover, \d+% inside its interval, 4\d% below, 1\d% idle", text)
    assert "unknown: no reading, 60 min" in text
    assert re.search(
        r"above: against off \d+% \[\d+, \d+\] less output at the same concurrency \(\d+% \[\d+, \d+\] more time", text
    )
    assert re.search(
        r"below: against off \d+% \[\d+, \d+\] more output at the same concurrency \(\d+% \[\d+, \d+\] less time", text
    )
    assert "best single arm: k1\n" in text
    assert re.search(r"best arm minute by minute \(k1 \d+%, k3 \d+%\): 0\.\d\d \[", text)
    assert "requests never waited for long, so no output was lost" in text
    assert "k3 against off: crosses at 24." in text


def test_lost_tokens_are_told_where_requests_waited(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    fill(tmp_path / "specwatch.db", time.time(), waiting=3.0)
    text = run(tmp_path).stdout
    assert re.search(r"requests waited for \d\.\d h, in which the best arm would have made \d\.\d M \[", text)


def test_the_json_has_the_same_numbers(folder: Path) -> None:
    result = run(folder, "--json", "--since", "24h")
    (endpoint,) = json.loads(result.stdout)["endpoints"]
    account = endpoint["account"]
    names = ("above", "inside", "below", "idle", "unknown")
    assert sum(account[name]["share"] for name in names) == pytest.approx(1.0)
    assert account["more_time_per_token_pct_above"]["by_time"]["low"] > 0
    assert account["more_time_per_token_pct_below"]["by_token"]["high"] < 0
    assert account["best_static"] == "k1"
    assert [day["arm"] for day in account["arms"]] == ["off", "k1", "k3"]
    static = min(day["time_per_token"]["value"] for day in account["arms"])
    assert account["routed"]["time_per_token"]["value"] <= static
    assert account["unknown_why"] == [{"reason": "no reading", "seconds": pytest.approx(3600, abs=60)}]
    assert endpoint["crossover"]["arms"]["k3"]["verdict"] == "crosses"


class _Page(HTMLParser):
    """What a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]


def test_the_page_needs_nothing_else(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    result = run(folder, "--out", str(out))
    assert result.exit_code == 0
    assert f"wrote {out}" in result.stderr
    assert "above the crossover" in result.stdout
    text = out.read_text(encoding="utf-8")
    read = _Page()
    read.feed(text)
    assert "script" not in read.tags
    assert "link" not in read.tags
    assert read.addresses == []
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") == 3
    for drawing in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(drawing)
    assert "k3 pays below 24." in text
    assert "best arm each minute" in text


def test_a_gap_in_the_readings_is_a_gap_in_the_line(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    run(folder, "--out", str(out))
    assert out.read_text(encoding="utf-8").count('class="line load"') == 2


def test_words_of_a_server_cannot_write_into_the_page(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    fill(tmp_path / "specwatch.db", time.time() - 60)
    with open_store(tmp_path / "specwatch.db") as store:
        append_readings(store, [a_failed_reading(at_s=time.time(), reason="said <script>alert(1)</script> & left")], {})
    result = run(tmp_path, "--out", str(tmp_path / "r.html"))
    assert "said <script>alert(1)</script> & left" in result.stdout
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "said &lt;script&gt;alert(1)&lt;/script&gt; &amp; left" in text
    assert "<script" not in text


def test_names_from_somebody_s_files_cannot_write_into_the_page(folder: Path) -> None:
    loaded = load_config(folder / "config.toml")
    with open_store(loaded.store_path, readonly=True) as store:
        now_s = time.time()
        (report,) = endpoint_reports(loaded.config, store, ["chat"], now_s - DAY_S, now_s)
    assert report.stored is not None
    found = report.stored.result
    odd = {"<i>k3": replace(found.arms["k3"], arm="<i>k3"), "a&b": found.arms["k1"]}
    curves = {"<i>off": found.curves["off"], "<i>k3": found.curves["k3"]}
    notes = (Reason("odd", "<i>a note"),)
    answer = replace(found, baseline="<i>off", arms=odd, curves=curves, notes=notes)
    stored = replace(report.stored, result=answer)
    text = page([replace(report, stored=stored)], "1")
    assert "&lt;i&gt;k3" in text
    assert "<li>&lt;i&gt;a note</li>" in text
    assert "1 = &lt;i&gt;off: above pays" in text
    assert "<i>" not in text
    assert "<td>a&amp;b</td>" in text


def test_traffic_without_a_sweep_and_a_sweep_without_traffic_are_both_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    store = tmp_path / "specwatch.db"
    fill(store, time.time(), sweep=False)
    result = run(tmp_path, "--out", str(tmp_path / "one.html"))
    assert result.exit_code == 0
    assert "no sweep has measured this pool yet" in result.stdout
    assert "nothing can be said of it" in result.stdout
    store.unlink()
    fill(store, time.time(), traffic=False)
    result = run(tmp_path, "--out", str(tmp_path / "two.html"))
    assert result.exit_code == 0
    assert "no traffic is stored for this time" in result.stdout
    assert "k3 against off: crosses" in result.stdout


def _stored_as(folder: Path, sql: str) -> str:
    """The page of a day whose stored answer was changed by `sql`."""
    (folder / "config.toml").write_text(CONFIG, encoding="utf-8")
    fill(folder / "specwatch.db", time.time())
    with sqlite3.connect(folder / "specwatch.db") as db:
        db.execute(sql)
    result = run(folder, "--out", str(folder / "r.html"))
    assert result.exit_code == 0, result.output
    return (folder / "r.html").read_text(encoding="utf-8")


def _headline(text: str) -> str:
    found = re.search(r'class="answer">(.*?)<', text)
    assert found is not None
    return found[1]


def test_an_answer_for_another_server_is_not_told_as_this_one_s(tmp_path: Path) -> None:
    text = _stored_as(tmp_path, "UPDATE crossovers SET fingerprint = 'ffff'")
    assert "not compared with this endpoint: another server" in _headline(text)
    assert text.count("<td>not compared</td>") == 2
    (document,) = json.loads(run(tmp_path, "--json").stdout)["endpoints"]
    assert document["not_compared"].startswith("another server")
    assert (document["expired"], document["imported"]) == (False, False)
    assert 'class="rule edge"' not in text


def test_an_expired_answer_says_so_first_and_beside_the_account(tmp_path: Path) -> None:
    text = _stored_as(tmp_path, f"UPDATE crossovers SET measured_at_s = measured_at_s - {30 * DAY_S}")
    assert "that is 33 d old and has expired" in _headline(text)
    assert "<li>the answer is older than alerts trust (alerts.max_age): sweep again</li>" in text


def test_an_answer_by_clients_is_told_in_clients(tmp_path: Path) -> None:
    by_clients = "UPDATE crossovers SET result = replace(result, 'concurrency_per_engine', 'clients')"
    assert "] clients and costs above" in _headline(_stored_as(tmp_path, by_clients))


def test_scrapes_further_apart_than_a_minute_are_one_line(tmp_path: Path) -> None:
    slow = CONFIG.replace("= 60.0", "= 180.0").replace("= 20.0", "= 60.0")
    (tmp_path / "config.toml").write_text(slow, encoding="utf-8")
    fill(tmp_path / "specwatch.db", time.time(), every_s=61.0)
    run(tmp_path, "--out", str(tmp_path / "r.html"))
    assert (tmp_path / "r.html").read_text(encoding="utf-8").count('class="line load"') == 2


def test_old_traffic_is_outside_the_time_asked_for(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    fill(tmp_path / "specwatch.db", time.time() - 2 * DAY_S)
    assert "no traffic is stored" in run(tmp_path, "--since", "6h").stdout
    assert "above the crossover" in run(tmp_path, "--since", "4d").stdout
    assert "above the crossover" in run(tmp_path, "--since", "999999999d").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nobody",), "no endpoint or pool is called nobody; there are chat"),
        (("--since", "soon"), "a duration is a number and a unit"),
        (("--out", "/nowhere/r.html"), "cannot be written to /nowhere/r.html"),
    ],
)
def test_a_mistake_is_told_once_and_ends_with_two(folder: Path, args: tuple[str, ...], words: str) -> None:
    result = run(folder, *args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_nothing_stored_ends_with_two(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    assert run(tmp_path).exit_code == 2
    fill(tmp_path / "specwatch.db", time.time(), sweep=False, traffic=False)
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "`specwatch serve` stores traffic" in result.stderr


def test_traffic_of_another_server_does_not_move_the_answer_for_this_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG, encoding="utf-8")
    loaded = load_config(tmp_path / "config.toml")
    now_s = time.time()
    held = stored_h200()
    with open_store(loaded.store_path) as store:
        sweep = begun(store, now_s - 3 * DAY_S, pool="chat-70b", trigger="schedule")
        measured(store, sweep, now_s - 2 * DAY_S, held.result, held.arm_k, fingerprint=held.fingerprint)
        servers = (("dead", (20, 6), 1.0, (0.3, 0.1, 0.05)), (held.fingerprint, (6, 0), 2.0, SWEPT))
        for fingerprint, hours, start_s, accepted in servers:
            save_identity(store, "chat", now_s - 3600 * hours[0] + 10, Identity(model_root="m"), fingerprint)
            for n in range(180 * (hours[0] - hours[1])):
                taken = tuple(1e4 * n * share for share in accepted)
                one = an_engine(
                    tokens=3e4 * n, running=60.0, drafts=1e4 * n, draft_tokens=3e4 * n, accepted_tokens=sum(taken),
                    accepted_per_pos=taken, finished=100.0 * n, histograms={},
                )  # fmt: skip
                at_s = now_s - 3600 * hours[0] + 20 * n
                append_readings(store, [a_reading(at_s=at_s, engines=(one,), process_start_s=start_s)], {})
        (report,) = endpoint_reports(loaded.config, store, ["chat"], now_s - DAY_S, now_s)
    assert report.account is not None
    assert not report.account.moved
    assert report.account.unknown.share > 0.6
    assert report.account.acceptance_length == pytest.approx(1 + sum(SWEPT), rel=0.01)
