"""Keys that contradict each other are refused with the cure; what is merely odd is a note and still loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.configs import SOUND, edited, only_problem, problems, sound

SECOND = '\n[[endpoint]]\nname = "other"\nurl = "http://127.0.0.1:8002"\n'


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ("timeout_s = 4.0", "timeout_s = 5.0", "scrape.timeout_s", "scrapes would pile up"),
        ("timeout_s = 4.0", "stale_after_s = 5", "scrape.stale_after_s", "would be stale"),
        ("timeout_s = 4.0", "live_window_s = 5", "scrape.live_window_s", "one sample is not a mean"),
        ("tolerated_loss_pct = 3.0", "tolerated_loss_pct = 1.0", "alerts.clear_loss_pct", "would flap"),
        ("[alerts]", '[alerts]\nmax_age = "2 weeks"', "alerts.max_age", "not a duration"),
        ("[scrape]", '[store]\nkeep_readings = "0d"\n[scrape]', "store.keep_readings", "not a duration"),
        ('baseline = "off"', 'baseline = "of"', 'endpoint[0] "chat".probe.baseline', "not one of the arms: off, k3"),
        ('live_arm = "k3"', 'live_arm = "k5"', 'endpoint[0] "chat".probe.live_arm', "not one of the arms"),
        ("ladder = [1, 2, 4]", "ladder = [1, 4, 2]", 'endpoint[0] "chat".probe.ladder', "must rise"),
        ("ladder = [1, 2, 4]", "ladder = []", 'endpoint[0] "chat".probe.ladder', "empty"),
        ("ladder = [1, 2, 4]", 'window = "1:00-5:00"', 'endpoint[0] "chat".probe.window', "not a window"),
        ("ladder = [1, 2, 4]", 'window = "25:00-05:00"', 'endpoint[0] "chat".probe.window', "not a window"),
        ("ladder = [1, 2, 4]", 'schedule = "0 3 * *"', 'endpoint[0] "chat".probe.schedule', "five fields"),
        ("ladder = [1, 2, 4]", 'schedule = "0 25 * * *"', 'endpoint[0] "chat".probe.schedule', "hour"),
        ("ladder = [1, 2, 4]", 'schedule = "0 3 31 2 *"', 'endpoint[0] "chat".probe.schedule', "never comes"),
        ("ladder = [1, 2, 4]", 'timezone = "Berlin"', 'endpoint[0] "chat".probe.timezone', "not a time zone"),
        ("ladder = [1, 2, 4]", 'prompts = "no.jsonl"', 'endpoint[0] "chat".probe.prompts', "there is no file"),
        (
            "ladder = [1, 2, 4]",
            'schedule = "0 6 * * *"\nwindow = "22:00-05:00"',
            'endpoint[0] "chat".probe.schedule',
            "refuse every run",
        ),
        ('name = "off"', 'name = "off"\nspeculation = true', 'endpoint[0] "chat".arm[0] "off".speculation', "baseline"),
        ('name = "off"', 'name = "off"\ndynamic = true', 'endpoint[0] "chat".arm[0] "off".dynamic', "draft length"),
        ('url_env = "ONCALL"', "", 'channel[0] "oncall"', "needs an address"),
        ('url_env = "ONCALL"', 'url_env = "A"\nurl_file = "b"', 'channel[0] "oncall".url_file', "at once"),
        ('name = "chat"', 'name = "chat"\nca_file = "ca.pem"', 'endpoint[0] "chat".ca_file', "there is no file"),
        ("ladder = [1, 2, 4]", "max_cost = 5", 'endpoint[0] "chat".probe.max_cost', "needs cost_per_hour"),
        (
            "ladder = [1, 2, 4]",
            "max_cost = 5\ncost_per_hour = 0",
            'endpoint[0] "chat".probe.max_cost',
            "needs cost_per_hour",
        ),
        (
            "ladder = [1, 2, 4]",
            "max_total_tokens = 100",
            'endpoint[0] "chat".probe.max_total_tokens',
            "no cell would be measured",
        ),
        ("ladder = [1, 2, 4]", 'before = "./drain"', 'endpoint[0] "chat".probe.before', "never be undone"),
        ("ladder = [1, 2, 4]", 'after = "./undrain"', 'endpoint[0] "chat".probe.after', "nothing for it to undo"),
        ('name = "chat"', 'name = "chat"\napi_path = "v1"', 'endpoint[0] "chat".api_path', "must start with /"),
    ],
)
def test_contradictions_are_refused(tmp_path: Path, old: str, new: str, key: str, words: str) -> None:
    problem = only_problem(tmp_path, edited(old, new))
    assert problem.key == key
    assert words in problem.message
    assert problem.suggestion
    assert problem.line is not None


def test_what_live_lengths_and_prefixes_do_to_prompts_of_ones_own_is_noted(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"prompt": "hello"}\n')
    own = edited("ladder = [1, 2, 4]", 'ladder = [1]\nprompts = "own.jsonl"\nshape = "auto"\nprefix_hit_ratio = "live"')
    assert sound(tmp_path, own).notes == ()
    (lengths,) = sound(tmp_path, edited('"auto"', '"live"', own)).notes
    assert "the lengths of answers only" in lengths.message
    (prefixes,) = sound(tmp_path, edited('prefix_hit_ratio = "live"', "prefix_hit_ratio = 0.5", own)).notes
    assert "makes them longer" in prefixes.message
    builtin = edited("ladder = [1, 2, 4]", 'ladder = [1]\nshape = "live"\nprefix_hit_ratio = 0.5')
    assert sound(tmp_path, builtin).notes == ()


@pytest.mark.parametrize("place", ['name = "chat"', "[scrape]", 'baseline = "off"', 'name = "k3"', "[alerts]"])
@pytest.mark.parametrize("key", ["proxy", "https_proxy", "HTTP_PROXY"])
def test_a_proxy_is_refused_with_what_to_do_instead(tmp_path: Path, place: str, key: str) -> None:
    problem = only_problem(tmp_path, edited(place, f'{place}\n{key} = "http://me:verysecret@proxy:3128"'))
    assert problem.key.endswith(f".{key}")
    assert "none is ever used" in problem.message
    assert "the worker's own address" in problem.suggestion
    assert "verysecret" not in problem.message + problem.suggestion


def test_a_sweep_needs_two_arms(tmp_path: Path) -> None:
    none = SOUND[: SOUND.index("  [[endpoint.arm]]")]
    assert "at least two arms and there is none" in only_problem(tmp_path, none).message
    one = SOUND[: SOUND.index('  [[endpoint.arm]]\n  name = "k3"')]
    assert {problem.key for problem in problems(tmp_path, one)} == {
        'endpoint[0] "chat".probe',
        'endpoint[0] "chat".probe.live_arm',
    }


def test_names_and_pools_must_be_unambiguous(tmp_path: Path) -> None:
    twice = SOUND + SECOND.replace("other", "chat")
    assert 'already is an endpoint called "chat"' in only_problem(tmp_path, twice).message

    pooled = edited('name = "chat"', 'name = "chat"\npool = "p"')
    probe = SOUND[SOUND.index("  [endpoint.probe]") : SOUND.index("[alerts]")]
    rival = pooled + SECOND + 'pool = "p"\n' + probe
    assert 'already probed through endpoint "chat"' in only_problem(tmp_path, rival).message
    assert problems(tmp_path, pooled + SECOND + 'pool = "p"\n') == ()

    stolen = SOUND + SECOND + 'pool = "q"\n\n[[endpoint]]\nname = "third"\nurl = "http://c"\npool = "other"\n'
    assert "also the name of an endpoint of another pool" in only_problem(tmp_path, stolen).message

    alike = edited('live_arm = "k3"', 'live_arm = "off"', edited('name = "k3"', 'name = "off"'))
    assert 'already is an arm called "off"' in only_problem(tmp_path, alike).message

    channels = SOUND + '[[channel]]\nname = "oncall"\nkind = "stdout"\n'
    assert 'already is a channel called "oncall"' in only_problem(tmp_path, channels).message


def test_oddities_are_notes_and_load(tmp_path: Path) -> None:
    odd = edited(
        "ladder = [1, 2, 4]", 'ladder = [2, 4]\nrepeats = 3\nschedule = "0 3,12 * * *"\nwindow = "01:00-05:00"'
    )
    notes = {note.key.rsplit(".", 1)[-1]: note for note in sound(tmp_path, odd).notes}
    assert set(notes) == {"ladder", "repeats", "schedule"}
    assert "write repeats = 4" in notes["repeats"].suggestion
    assert "12:00" in notes["schedule"].message
    same = sound(tmp_path, SOUND.replace('url = "http://127.0.0.1:8001"', 'url = "http://127.0.0.1:8000"'))
    assert "both on and off" in same.notes[0].message
    empty = sound(tmp_path, "")
    assert "nothing to watch" in empty.notes[0].message


def test_a_server_may_be_compared_with_itself(tmp_path: Path) -> None:
    same = edited('url = "http://127.0.0.1:8001"', 'url = "http://127.0.0.1:8000"')
    assert problems(tmp_path, edited('name = "k3"\n', 'name = "k3"\nspeculation = false\n', same)) == ()


@pytest.mark.parametrize(
    ("url", "message", "cure"),
    [
        ("127.0.0.1:8000", "not an http or https address", 'url = "http://127.0.0.1:8000"'),
        ("ftp://h", "not an http or https address", "http://"),
        ("http://", "names no host", ""),
        ("http://h:99999", "cannot be read", ""),
        ("http://[::1", "cannot be read", ""),
        ("http://h:0", "port 0", ""),
        ("http://a b", "space", ""),
        ("http://key:pw@h", "no place for secrets", "api_key_env"),
        ("http://h?token=abcdef", "may hold a secret", "api_key_env"),
        ("http://h:8000/v1", "must be the base address", 'url = "http://h:8000"'),
        ("http://h:8000/v1/", "must be the base address", 'url = "http://h:8000"'),
        ("http://h/chat/v1", "must be the base address", 'url = "http://h/chat"'),
        ("http://h:8000/metrics", "must be the base address", "metrics_url"),
    ],
)
def test_addresses_that_cannot_work_are_refused(tmp_path: Path, url: str, message: str, cure: str) -> None:
    text = f'[[endpoint]]\nname = "chat"\nurl = "{url}"\n'
    problem = only_problem(tmp_path, text)
    assert problem.key == 'endpoint[0] "chat".url'
    assert message in problem.message
    assert cure in problem.suggestion
    assert "abcdef" not in problem.message + problem.suggestion
    assert "pw" not in problem.message + problem.suggestion.replace("password", "")


def test_a_path_prefix_and_ipv6_are_fine(tmp_path: Path) -> None:
    for url in ("http://gateway/models/chat", "http://[::1]:8000", "https://h/"):
        assert problems(tmp_path, f'[[endpoint]]\nname = "chat"\nurl = "{url}"\n') == ()


@pytest.mark.parametrize("header", ['Authorization = "Bearer abc"', 'X-Api-Key = "abc"', 'x-auth-token = "abc"',
                                    'Cookie = "abc"', 'X-Anything = "Bearer abc"'])  # fmt: skip
def test_secrets_in_headers_are_refused(tmp_path: Path, header: str) -> None:
    problem = only_problem(tmp_path, edited('name = "chat"\n', f'name = "chat"\nheaders = {{ {header} }}\n'))
    assert "looks like a secret" in problem.message
    assert "api_key_env" in problem.suggestion
    assert "abc" not in problem.message + problem.suggestion


@pytest.mark.parametrize("kind", ["slack", "webhook"])
def test_a_slack_address_in_the_file_is_refused(tmp_path: Path, kind: str) -> None:
    text = edited('url_env = "ONCALL"', 'url = "https://hooks.slack.com/services/T0/B0/xyz"')
    problem = only_problem(tmp_path, edited('kind = "webhook"', f'kind = "{kind}"', text))
    assert "is a secret" in problem.message
    assert "url_env" in problem.suggestion
    assert "xyz" not in problem.message + problem.suggestion


def test_a_plain_webhook_address_is_fine(tmp_path: Path) -> None:
    assert problems(tmp_path, edited('url_env = "ONCALL"', 'url = "http://127.0.0.1:9000/alerts"')) == ()


def test_a_secret_written_where_its_place_belongs_is_refused_and_not_repeated(tmp_path: Path) -> None:
    text = edited('name = "chat"\n', 'name = "chat"\nsecret_headers = { X-Api-Key = "sk-verysecret" }\n')
    problem = only_problem(tmp_path, text)
    assert "not hold it" in problem.message
    assert "sk-verysecret" not in problem.message + problem.suggestion
