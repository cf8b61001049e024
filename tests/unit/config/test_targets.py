"""Targets carry what the config says and what the secrets hold, and no secret ever shows in text."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config.errors import ConfigError, explain
from monitor.config.model import ArmConfig, ChannelConfig, EndpointConfig
from monitor.config.targets import arm_target, channel_url, endpoint_target, pool_of, probe_of
from tests.support.configs import SOUND, edited, sound

SECRET = "sk-do-not-show"


@pytest.fixture(autouse=True)
def _variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", f"{SECRET}\n")
    monkeypatch.setenv("EMPTY", "  ")
    monkeypatch.setenv("TWO_LINES", f"{SECRET}\nX-Evil: 1")
    monkeypatch.setenv("HOOK", f"https://hooks.example.com/{SECRET}")
    monkeypatch.delenv("UNSET", raising=False)


def _endpoint(**more: object) -> EndpointConfig:
    return EndpointConfig.model_validate({"name": "chat", "url": "http://h:8000/", **more})


def _said(error: pytest.ExceptionInfo[ConfigError]) -> str:
    return explain(error.value) + repr(error.value) + str(error.value.__cause__) + str(error.value.__context__)


def test_a_key_goes_to_the_api_only_and_never_shows() -> None:
    target = endpoint_target(_endpoint(api_key_env="KEY", headers={"X-Tenant": "a"}))
    assert target.url == "http://h:8000"
    assert target.headers == {"X-Tenant": "a", "Authorization": f"Bearer {SECRET}"}
    assert target.metrics_headers == {"X-Tenant": "a"}
    assert SECRET not in repr(target)


def test_a_metrics_key_comes_from_a_file_and_goes_to_the_page_only(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{SECRET}\n")
    target = endpoint_target(_endpoint(metrics_key_file=str(tmp_path / "key")))
    assert target.metrics_headers == {"Authorization": f"Bearer {SECRET}"}
    assert target.headers == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"api_key_env": "UNSET"}, "variable UNSET is not set or empty"),
        ({"api_key_env": "EMPTY"}, "variable EMPTY is not set or empty"),
        ({"metrics_key_env": "TWO_LINES"}, "more than one line"),
        ({"api_key_file": "{tmp}/none"}, "there is no file"),
        ({"api_key_file": "{tmp}"}, "cannot be read"),
        ({"api_key_file": "{tmp}/empty"}, "is empty"),
        ({"api_key_file": "{tmp}/binary"}, "plain text"),
    ],
)
def test_a_secret_that_cannot_be_used_is_said_without_it(tmp_path: Path, given: dict[str, str], words: str) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(SECRET.encode() + b"\xff")
    given = {name: value.replace("{tmp}", str(tmp_path)) for name, value in given.items()}
    with pytest.raises(ConfigError) as caught:
        endpoint_target(_endpoint(**given))
    assert words in _said(caught)
    assert f'endpoint "chat".{next(iter(given))}' in _said(caught)
    assert SECRET not in _said(caught)


def test_an_arm_takes_what_it_does_not_say_from_its_endpoint() -> None:
    endpoint = _endpoint(
        api_key_env="KEY",
        model="m",
        api_path="/openai",
        metrics_url="http://h:9000/metrics",
        client_cert="c",
        client_key="k",
    )
    same = arm_target(endpoint, ArmConfig(name="k3", url="http://h:8000"))
    assert (same.name, same.model, same.api_path) == ("chat/k3", "m", "/openai")
    assert same.metrics_url == "http://h:9000/metrics"
    assert same.headers["Authorization"] == f"Bearer {SECRET}"

    other = arm_target(endpoint, ArmConfig(name="off", url="http://h:8001", api_key_file=None, client_cert="d"))
    assert other.metrics_url is None, "the endpoint's page belongs to another server"
    assert (other.client_cert, other.client_key) == ("d", None)


def test_a_missing_key_is_blamed_on_the_table_that_names_it() -> None:
    arm = ArmConfig(name="k3", url="http://h:8001")
    for endpoint, blamed in (
        (_endpoint(api_key_env="UNSET"), 'endpoint "chat".api_key_env'),
        (_endpoint(metrics_key_env="UNSET"), 'endpoint "chat".metrics_key_env'),
    ):
        with pytest.raises(ConfigError) as caught:
            arm_target(endpoint, arm)
        assert caught.value.problems[0].key == blamed
    with pytest.raises(ConfigError) as caught:
        arm_target(_endpoint(api_key_env="KEY"), ArmConfig(name="k3", url="http://h:8001", api_key_env="UNSET"))
    assert caught.value.problems[0].key == 'endpoint "chat".arm "k3".api_key_env'


def test_a_channel_address_is_resolved_and_judged_without_showing_it(tmp_path: Path) -> None:
    def channel(**more: object) -> ChannelConfig:
        return ChannelConfig.model_validate({"name": "oncall", "kind": "webhook", **more})

    assert channel_url(channel(url_env="HOOK")) == f"https://hooks.example.com/{SECRET}"
    assert channel_url(channel(kind="stdout")) == ""
    for given in ({"url_env": "KEY"}, {"url_env": "UNSET"}, {"url_file": str(tmp_path / "none")}):
        with pytest.raises(ConfigError) as caught:
            channel_url(channel(**given))
        assert 'channel "oncall".url_' in _said(caught)
        assert SECRET not in _said(caught)


def test_a_probe_is_found_by_pool_and_by_any_of_its_endpoints(tmp_path: Path) -> None:
    text = edited('name = "chat"', 'name = "chat"\npool = "p"')
    text += '\n[[endpoint]]\nname = "chat-2"\nurl = "http://b"\npool = "p"\n[[endpoint]]\nname = "alone"\nurl = "http://c"\n'
    config = sound(tmp_path, text).config
    assert [pool_of(endpoint) for endpoint in config.endpoint] == ["p", "p", "alone"]
    for name in ("p", "chat", "chat-2"):
        assert probe_of(config, name)[0].name == "chat"
    with pytest.raises(ConfigError, match=r"has no \[endpoint.probe\]"):
        probe_of(config, "alone")
    with pytest.raises(ConfigError) as caught:
        probe_of(config, "caht")
    assert "did you mean chat?" in _said(caught)
    assert probe_of(sound(tmp_path, SOUND).config, "chat")[1].baseline == "off"


def test_a_secret_header_comes_from_where_it_is_and_never_shows(tmp_path: Path) -> None:
    (tmp_path / "gate").write_text(f"{SECRET}\n")
    given = {"X-Api-Key": "env:KEY", "X-Gate": f"file:{tmp_path / 'gate'}"}
    target = endpoint_target(_endpoint(secret_headers=given))
    assert target.headers == {"X-Api-Key": SECRET, "X-Gate": SECRET}
    assert target.metrics_headers == target.headers
    assert SECRET not in repr(target)


def test_a_secret_header_whose_variable_is_missing_is_named() -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint_target(_endpoint(secret_headers={"X-Api-Key": "env:NOT_THERE"}))
    assert "secret_headers.X-Api-Key" in _said(caught)
    assert "NOT_THERE" in _said(caught)


def test_every_missing_secret_of_a_server_is_named_at_once(tmp_path: Path) -> None:
    endpoint = _endpoint(
        api_key_env="UNSET",
        metrics_key_file=str(tmp_path / "none"),
        secret_headers={"X-Tenant": "env:EMPTY", "X-Good": "env:KEY"},
    )
    with pytest.raises(ConfigError) as caught:
        endpoint_target(endpoint)
    keys = [problem.key for problem in caught.value.problems]
    assert keys == [f'endpoint "chat".{key}' for key in ("secret_headers.X-Tenant", "api_key_env", "metrics_key_file")]
    assert SECRET not in _said(caught)
