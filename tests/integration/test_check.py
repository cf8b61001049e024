"""`specwatch check` over real sockets: what is wrong is named, what is sound shown, nothing sent, no secret said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from monitor.cli import main
from monitor.commands.check import check
from tests.support.canned_server import CannedServer, canned_server, vllm_routes
from tests.support.configs import write

OFF, K3 = "vllm-0.26.0-h200-off-c32.prom", "vllm-0.26.0-h200-k3-c32.prom"
SECRET = "sk-do-not-show"


def run(path: Path) -> Result:
    result = CliRunner().invoke(check, ["--config", str(path)], catch_exceptions=False)
    assert SECRET not in result.output
    return result


def config(off: str, k3: str, *, probe: str = "", endpoint: str = "", more: str = "") -> str:
    return f"""\
[[endpoint]]
name = "chat"
url = "{k3}"
{endpoint}
  [endpoint.probe]
  live_arm = "k3"
  ladder = [1, 8]
  repeats = 2
  {probe}
  [[endpoint.arm]]
  name = "off"
  url = "{off}"
  [[endpoint.arm]]
  name = "k3"
  url = "{k3}"
{more}
"""


@contextmanager
def pair(
    off: dict[str, bytes] | None = None, k3: dict[str, bytes] | None = None
) -> Iterator[tuple[CannedServer, CannedServer]]:
    with canned_server(off or vllm_routes(OFF)) as a, canned_server(k3 or vllm_routes(K3)) as b:
        yield a, b


def test_a_sound_config_is_shown_and_nothing_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONCALL", f"https://hooks.example.com/{SECRET}")
    probe = 'schedule = "0 3 * * sun"\nwindow = "01:00-05:00"\ntimezone = "Europe/Berlin"'
    hook = '[[channel]]\nname = "oncall"\nkind = "webhook"\nurl_env = "ONCALL"\n'
    with pair() as (off, k3):
        result = run(write(tmp_path, config(off.url, k3.url, probe=probe, more=hook)))
        asked = {(method, path) for server in (off, k3) for method, path, _ in server.asked}
    assert result.exit_code == 0
    assert result.output.count("vllm 0.26.0, 1 engine") == 3
    assert result.output.count("llama (root org/llama), at most 8192 tokens") == 3
    assert result.output.count("on, K 3") == 2
    assert "speculation  off" in result.output
    assert "32 running" in result.output
    assert "off (baseline), k3 (live)" in result.output
    assert "about" in result.output
    assert "8 cells" in result.output
    assert "Sun " in result.output
    assert "03:00 CE" in result.output
    assert "01:00-05:00 Europe/Berlin" in result.output
    assert str(tmp_path / "specwatch.db") in result.output
    assert "ready: https://hooks.example.com, address from variable ONCALL; nothing was sent" in result.output
    assert "arm off has 32 requests in the system now" in result.output
    assert result.output.endswith("0 problems, 2 notes.\n")
    assert {method for method, _ in asked} == {"GET"}
    assert not (tmp_path / "specwatch.db").exists()


def test_every_mistake_of_a_broken_config_is_printed_in_one_run(tmp_path: Path) -> None:
    text = """\
[scrape]
interval_s = "5"
timout_s = 3
[store]
path = "nowhere/x.db"
[[endpoint]]
name = "chat"
url = "http://127.0.0.1:8000/v1"
cell_s = 45
headers = { Authorization = "Bearer sk-do-not-show" }
[endpoint.probe]
baseline = "of"
ladder = [4, 2]
schedule = "0 3 * * 9"
window = "1-5"
timezone = "Europe/Berln"
max_kv_usage = 50
[[endpoint.arm]]
name = "off"
url = "127.0.0.1:8001"
[[endpoint.arm]]
name = "k3"
restart = "systemctl restart k3"
[alerts]
max_age = "soon"
clear_loss_pct = 5
[[channel]]
name = "oncall"
kind = "pigeon"
[[channel]]
name = "slack"
kind = "slack"
url = "https://hooks.slack.com/services/sk-do-not-show"
"""
    path = write(tmp_path, text)
    result = run(path)
    assert result.exit_code == 2
    for line, key in [
        (2, "scrape.interval_s"),
        (3, "scrape.timout_s"),
        (5, "store.path"),
        (8, 'endpoint[0] "chat".url'),
        (9, 'endpoint[0] "chat".cell_s'),
        (10, 'endpoint[0] "chat".headers.Authorization'),
        (12, 'endpoint[0] "chat".probe.baseline'),
        (13, 'endpoint[0] "chat".probe.ladder'),
        (14, 'endpoint[0] "chat".probe.schedule'),
        (15, 'endpoint[0] "chat".probe.window'),
        (16, 'endpoint[0] "chat".probe.timezone'),
        (17, 'endpoint[0] "chat".probe.max_kv_usage'),
        (11, 'endpoint[0] "chat".probe.live_arm'),
        (18, 'endpoint[0] "chat".arm[0] "off"'),
        (20, 'endpoint[0] "chat".arm[0] "off".url'),
        (23, 'endpoint[0] "chat".arm[1] "k3".restart'),
        (25, "alerts.max_age"),
        (26, "alerts.clear_loss_pct"),
        (29, 'channel[0] "oncall".kind'),
        (33, 'channel[1] "slack".url'),
    ]:
        assert f"{path}:{line}  {key}\n" in result.output
    assert result.output.startswith("20 problems in the config:")
    assert "did you mean timeout_s?" in result.output
    assert "Traceback" not in result.output


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    result = run(tmp_path / "none.toml")
    assert result.exit_code == 2
    assert "there is no such file" in result.output


@pytest.mark.parametrize(
    ("off", "k3", "words"),
    [
        (vllm_routes(K3), vllm_routes(OFF), "their urls look swapped"),
        (vllm_routes(K3), vllm_routes(K3), "arm off is the baseline, but it speculates"),
        (vllm_routes(OFF), vllm_routes(OFF), "arm k3 must speculate, but its page shows no speculation"),
        (
            vllm_routes(OFF, version="0.25.1"),
            vllm_routes(K3),
            "different versions, so they cannot be compared: off 0.25.1",
        ),
        (vllm_routes(OFF, models=("qwen",)), vllm_routes(K3), "different models"),
        (vllm_routes(OFF, max_model_len=4096), vllm_routes(K3), "different max model lengths"),
        (vllm_routes("sglang-0.5.15-h200-off-c32.prom"), vllm_routes(K3), "different engines"),
        (vllm_routes(OFF, models=("llama", "lora")), vllm_routes(K3), "several models are served, set model to one of"),
        ({"/metrics": b"<html>hello</html>"}, vllm_routes(K3), "PROBLEM"),
        ({"/metrics": b""}, vllm_routes(K3), "PROBLEM"),
    ],
)
def test_arms_that_cannot_be_compared_are_named(
    tmp_path: Path, off: dict[str, bytes], k3: dict[str, bytes], words: str
) -> None:
    with pair(off, k3) as (a, b):
        result = run(write(tmp_path, config(a.url, b.url)))
    assert words in result.output
    assert result.exit_code == 2


def test_a_live_arm_that_is_not_what_production_runs_is_named(tmp_path: Path) -> None:
    with pair() as (off, k3), canned_server(vllm_routes("vllm-0.26.0-h200-k5-c32.prom")) as production:
        text = config(off.url, k3.url).replace(f'url = "{k3.url}"', f'url = "{production.url}"', 1)
        result = run(write(tmp_path, text))
    assert "live_arm is k3, but its K is 3 and the endpoint's is 5" in result.output
    assert result.exit_code == 2


def test_a_server_that_is_down_does_not_hide_the_others(tmp_path: Path) -> None:
    with canned_server(vllm_routes(K3)) as k3:
        with canned_server({}) as gone:
            address = gone.url
        result = run(write(tmp_path, config(address, k3.url)))
    assert result.exit_code == 2
    assert f"arm off of chat  {address}\n  state        down" in result.output
    assert result.output.count("vllm 0.26.0") == 2
    assert "1 problem, 1 note." in result.output


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        (
            'schedule = "50 4 * * *"\nwindow = "01:00-05:00"',
            "started at 04:50, it takes about 11 min, but its window 01:00-05:00 UTC has 10 min left",
        ),
        (
            'schedule = "0,50 4 * * *"\nwindow = "01:00-05:00"',
            "started at 04:50, it takes about 11 min",
        ),
        ('window = "01:00-01:05"', "but its window 01:00-01:05 UTC has 5 min left"),
        ("max_minutes = 2", "max_minutes allows 2 min"),
        ("max_total_tokens = 1000", "tokens, max_total_tokens allows 1,000"),
        ("cost_per_hour = 100\nmax_cost = 5", "max_cost allows 5"),
    ],
)
def test_a_sweep_that_does_not_fit_is_named(tmp_path: Path, probe: str, words: str) -> None:
    with pair() as (off, k3):
        result = run(write(tmp_path, config(off.url, k3.url, probe=probe)))
    assert words in result.output
    assert result.output.count("the gate would refuse this sweep") == 1
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "probe",
    [
        'schedule = "0 3 * * *"\nwindow = "01:00-05:00"',
        'window = "22:00-05:00"',
        "max_minutes = 30\nmax_total_tokens = 2000000\ncost_per_hour = 12\nmax_cost = 5",
    ],
)
def test_a_sweep_that_fits_is_not_named(tmp_path: Path, probe: str) -> None:
    with pair() as (off, k3):
        result = run(write(tmp_path, config(off.url, k3.url, probe=probe)))
    assert "the gate would refuse" not in result.output
    assert result.exit_code == 0
    if "cost_per_hour" in probe:
        assert "costs        about 1.97" in result.output


RESTARTED = """\
[[endpoint]]
name = "chat"
url = "{url}"
  [endpoint.probe]
  live_arm = "{live}"
  ladder = [1, 8]
  repeats = 2
  allow_restart = true
  {probe}
  [[endpoint.arm]]
  name = "off"
  restart = "./serve off"
  [[endpoint.arm]]
  name = "k3"
  restart = "./serve k3"
"""


def test_arms_that_are_restarts_of_one_server_are_counted_and_not_run(tmp_path: Path) -> None:
    with canned_server(vllm_routes(K3)) as server:
        result = run(write(tmp_path, RESTARTED.format(url=server.url, live="k3", probe="")))
        asked = {method for method, _, _ in server.asked}
    assert result.exit_code == 0, result.output
    assert result.output.count("vllm 0.26.0, 1 engine") == 1, "the one server is looked at once"
    assert "off (baseline), k3 (live)" in result.output
    assert "restarts     5 of one server, about 6 min each" in result.output
    assert "no before hook takes the server out of its router" in result.output
    assert "requests in the system now; above max_live_concurrency" in result.output
    assert asked == {"GET"}


def test_restarts_count_against_the_window(tmp_path: Path) -> None:
    """The cells alone would fit: it is the starts that make it too long."""
    probe = 'schedule = "25 4 * * *"\nwindow = "01:00-05:00"\n'
    for more, fits in (("start_timeout_s = 60\ndrain_s = 1", True), ("", False)):
        with canned_server(vllm_routes(K3)) as server:
            result = run(write(tmp_path, RESTARTED.format(url=server.url, live="k3", probe=probe + more)))
        assert ("has 35 min left" not in result.output) == fits
        assert result.exit_code == (0 if fits else 2)


def test_a_live_arm_that_the_restarted_server_does_not_run_is_named(tmp_path: Path) -> None:
    for page, live in ((OFF, "k3"), (K3, "off")):
        with canned_server(vllm_routes(page)) as server:
            result = run(write(tmp_path, RESTARTED.format(url=server.url, live=live, probe="")))
        assert "bring back another server than the one that runs now" in result.output
        assert result.exit_code == 2


def test_a_server_that_a_sweep_left_behind_is_a_problem_until_it_is_put_back(tmp_path: Path) -> None:
    journal = tmp_path / "specwatch.db.restart-chat.json"
    with canned_server(vllm_routes(K3)) as server:
        path = write(tmp_path, RESTARTED.format(url=server.url, live="k3", probe=""))
        journal.write_text("{")
        left = run(path)
        journal.unlink()
        back = run(path)
    assert "the server of chat does not run its live arm k3 after a sweep restarted it" in left.output
    assert "`specwatch stop chat` puts it back" in left.output
    assert (left.exit_code, back.exit_code) == (2, 0)


def test_a_pause_and_a_file_that_hold_sweeps_are_noted_by_check_and_by_plan(tmp_path: Path) -> None:
    with pair() as (off, k3):
        path = write(tmp_path, config(off.url, k3.url))

        def both() -> list[str]:
            planned = CliRunner().invoke(main, ["sweep", "chat", "--plan", "--config", str(path)])
            checked = run(path)
            assert (planned.exit_code, checked.exit_code) == (0, 0), "they pass by themselves"
            return [planned.output, checked.output]

        pause = CliRunner().invoke(main, ["pause", "--until", "2h", "--reason", "launch", "--config", str(path)])
        assert pause.exit_code == 0
        assert all(
            "at this moment: sweeps are paused" in " ".join(text.split()) and "pause --resume" in text
            for text in both()
        )
        CliRunner().invoke(main, ["pause", "--resume", "--config", str(path)])
        assert all("at this moment" not in text for text in both())
        (tmp_path / "specwatch.db.noprobe").touch()
        assert all("specwatch.db.noprobe" in "".join(text.split()) for text in both())


def test_a_proxy_in_the_environment_is_said_to_be_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pair() as (off, k3):
        path = write(tmp_path, config(off.url, k3.url))
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy:3128")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        result = run(path)
    assert "HTTPS_PROXY, http_proxy in the environment: ignored" in result.output
    assert result.exit_code == 0


def test_keys_are_used_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", SECRET)
    with canned_server(vllm_routes(OFF), key=SECRET) as off, canned_server(vllm_routes(K3), key=SECRET) as k3:
        result = run(write(tmp_path, config(off.url, k3.url, endpoint='api_key_env = "KEY"')))
        asked = off.asked + k3.asked
    assert result.exit_code == 0
    assert {(path == "/metrics", key) for _, path, key in asked} == {(True, None), (False, f"Bearer {SECRET}")}


def test_missing_secrets_are_problems_and_the_rest_is_still_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEY", raising=False)
    monkeypatch.setenv("ONCALL", SECRET)
    more = (
        '[[endpoint]]\nname = "other"\nurl = "{}"\n[[channel]]\nname = "oncall"\nkind = "slack"\nurl_env = "ONCALL"\n'
    )
    with pair() as (off, k3):
        text = config(off.url, k3.url, endpoint='api_key_env = "KEY"', more=more.format(off.url))
        result = run(write(tmp_path, text))
    assert result.exit_code == 2
    assert result.output.count("variable KEY is not set or empty") == 1, "said once, not once per arm"
    assert 'endpoint "chat".api_key_env variable KEY is not set or empty' in result.output
    assert "2 problems, " in result.output
    assert "endpoint other" in result.output
    assert "vllm 0.26.0" in result.output
    assert 'channel "oncall".url_env does not hold an http or https address' in result.output
    assert "the cost is not estimated" in result.output


def test_a_store_that_cannot_be_used_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "specwatch.db").write_text("these are not the bytes of a database" * 100)
    with pair() as (off, k3):
        path = write(tmp_path, config(off.url, k3.url))
        assert "PROBLEM" in run(path).output
        (tmp_path / "specwatch.db").unlink()
        if os.geteuid() != 0:
            tmp_path.chmod(0o500)
            assert "not writable" in run(path).output
            tmp_path.chmod(0o700)


def test_a_secret_file_that_everybody_can_read_is_noted(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text(SECRET)
    with pair() as (off, k3):
        path = write(tmp_path, config(off.url, k3.url, endpoint='api_key_file = "key"'))
        secret.chmod(0o644)
        assert f"can be read by everybody on this machine: chmod o-r {secret}" in run(path).output
        secret.chmod(0o600)
        assert "by everybody" not in run(path).output


def test_a_config_without_endpoints_is_unusable(tmp_path: Path) -> None:
    result = run(write(tmp_path, ""))
    assert result.exit_code == 2
    assert "there is nothing to watch" in result.output
