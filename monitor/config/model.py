"""What config.toml may say: every key, its type, unit and default; unknown keys are errors.

Shape and bounds only; nothing is coerced ("5" is not 5). Reading the file lives in `load.py`, checks across keys in
`rules.py`, secrets in `targets.py`, words for people in `shape.py` and `errors.py`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


MAX_TOKENS_MOST = 65_536
"""No answer of a sweep may be capped higher."""


class Section(BaseModel):
    """One table of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class StoreConfig(Section):
    path: str = "specwatch.db"
    """SQLite file on a local disk; relative to the config file."""
    keep_readings: str = "14d"
    """How long scrapes are kept. Sweeps, crossovers and alerts are kept for ever."""


class ScrapeConfig(Section):
    interval_s: Annotated[float, Field(ge=1)] = 5.0
    timeout_s: Seconds = 4.0
    max_page_mb: Seconds = 16.0
    gzip: bool = False
    """Ask for compressed pages: saves bytes, costs the server's event loop."""
    live_window_s: Seconds = 60.0
    """Live concurrency is the mean over this window."""
    stale_after_s: Seconds = 20.0
    """A newest reading older than this is stale."""

    @property
    def max_page_bytes(self) -> int:
        """`max_page_mb` as every scraper takes it."""
        return int(self.max_page_mb * 1_000_000)


class ServeConfig(Section):
    metrics_host: str = "127.0.0.1"
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 9469
    """Our own /metrics; 0 switches it off."""


class Reach(Section):
    """How to reach one server; shared by endpoints and arms. Secrets are named, never written here."""

    url: str
    metrics_url: str | None = None
    api_path: str = "/v1"
    model: str | None = None
    headers: dict[str, str] = Field(default_factory=dict)
    """Plain headers for the API and the metrics page; no secrets here."""
    secret_headers: dict[str, str] = Field(default_factory=dict)
    """Header name to where its value is: `env:NAME` or `file:PATH`. Sent to the API and the metrics page."""
    api_key_env: str | None = None
    api_key_file: str | None = None
    """Sent as `Authorization: Bearer` to the API."""
    metrics_key_env: str | None = None
    metrics_key_file: str | None = None
    """Sent as `Authorization: Bearer` to the metrics page only."""
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    insecure_skip_verify: bool = False


class ArmConfig(Section):
    """One server configuration of a sweep. What is not given here is taken from the endpoint."""

    name: Name
    url: str | None = None
    metrics_url: str | None = None
    """Taken from the endpoint only where `url` is the endpoint's own."""
    api_path: str | None = None
    model: str | None = None
    headers: dict[str, str] | None = None
    secret_headers: dict[str, str] | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    metrics_key_env: str | None = None
    metrics_key_file: str | None = None
    ca_file: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    insecure_skip_verify: bool | None = None
    speculation: bool | None = None
    """Whether this arm must draft; default: no for the baseline, yes for every other arm."""
    dynamic: bool = False
    """Whether this arm changes its draft length with the load (a schedule, adaptive steps); it may then draft nothing
    on some rungs, and its answer is set against every arm of fixed length."""
    hardware: str | None = None
    restart: str | None = None
    """Shell command that turns the endpoint's server into this arm and returns once it is starting. Needs
    `allow_restart`; then every arm has one, and no arm has a url of its own."""


class ProbeConfig(Section):
    baseline: Name = "off"
    live_arm: Name | None = None
    ladder: list[Annotated[int, Field(ge=1, le=4096)]] | Literal["auto"] = "auto"
    repeats: Annotated[int, Field(ge=1, le=50)] = 4
    cell_s: Annotated[float, Field(ge=0.2, le=3600)] = 45.0
    """Steady window of one cell; ramp and drain come on top."""
    warmup_s: Annotated[float, Field(ge=0)] = 20.0
    """Load thrown away on each arm before its first cell."""
    settle_s: Annotated[float, Field(ge=0)] = 60.0
    """After a sweep, readings still count as sweep traffic for this long."""
    max_tokens: Annotated[int, Field(ge=2, le=MAX_TOKENS_MOST)] = 512
    """Cap on output; answers end naturally before it. A cell says what share hit it."""
    temperature: Annotated[float, Field(ge=0, le=5)] | None = None
    """None leaves the server's default sampling in force, as for users."""
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    seed: int = 1
    """Of the prompt order and salts, the same for every arm."""
    prompts: str = "builtin"
    """`builtin`, or a JSONL file with one {"prompt": "..."} or {"messages": [...]} a line."""
    schedule: str | None = None
    """Five-field crontab; weekdays by name or crontab number (0 and 7 are Sunday). Absent: no scheduled sweep."""
    window: str | None = None
    """HH:MM-HH:MM in `timezone`; may cross midnight. Absent: any time."""
    timezone: str = "UTC"
    max_live_concurrency: Annotated[float, Field(ge=0)] = 1.0
    """The gate refuses, and a sweep aborts, above this many foreign requests in the system on any arm."""
    max_kv_usage: Fraction = 0.5
    quiet_s: Annotated[float, Field(ge=0)] = 60.0
    """The gate watches every arm this long before it says yes, also after backing off in the middle of a sweep."""
    backoff_minutes: Annotated[float, Field(ge=0)] = 10.0
    """A sweep that meets others' traffic closes its streams and waits this long for quiet before it gives up; a
    scheduled sweep that the gate refused is tried again after as long, until its window ends."""
    resume_hours: Annotated[float, Field(ge=0)] = 24.0
    """A sweep that was broken off goes on where it stopped within this time, if the servers are the same; 0: never."""
    max_minutes: Annotated[float, Field(gt=0)] = 240.0
    max_total_tokens: Annotated[int, Field(gt=0)] | None = None
    """Budget of output tokens of one sweep, all arms together."""
    cost_per_hour: Annotated[float, Field(ge=0)] | None = None
    """What one hour of the arms under load costs, in any currency; only for `max_cost` and for what --plan says."""
    max_cost: Annotated[float, Field(gt=0)] | None = None
    max_ttft_s: Annotated[float, Field(gt=0)] = 20.0
    """An arm stops climbing at the first rung whose TTFT p99 is above this."""
    refine_octaves: Annotated[float, Field(ge=0, le=4)] = 0.5
    """After the ladder, more cells around the crossing until its interval is this narrow (1 is a factor of two) or
    the budget ends; 0 measures the ladder only."""
    shape: Literal["auto", "live", "none"] = "auto"
    """Prompt and output lengths like the endpoint's own traffic. `auto`: where there is enough history and the prompts
    are the built-in ones."""
    prefix_hit_ratio: Fraction | Literal["live"] = "live"
    """Share of prompt tokens that should come from the prefix cache; `live`: as seen in the endpoint's own traffic,
    0 without history."""
    workers: Annotated[int, Field(ge=1, le=64)] | Literal["auto"] = "auto"
    """Processes that carry the load."""
    allow_restart: bool = False
    """Whether `restart` commands of arms may be run at all."""
    before: str | None = None
    """Command run before the first restart (drain from the router, freeze the autoscaler)."""
    after: str | None = None
    """Command that undoes `before`; always run once `before` was begun."""
    hook_timeout_s: Seconds = 600.0
    """A hook that runs longer is killed and counts as failed."""
    start_timeout_s: Seconds = 1800.0
    """How long a restarted server may take until it serves."""
    drain_s: Annotated[float, Field(ge=0)] = 30.0
    """Running and waiting must have been 0 for this long before a restart."""


class EndpointConfig(Reach):
    name: Name
    pool: Name | None = None
    hardware: str | None = None
    """Declared, e.g. "1xH200"; part of the fingerprint."""
    revision: str | None = None
    """Declared, e.g. a deployment hash; part of the fingerprint."""
    probe: ProbeConfig | None = None
    arm: list[ArmConfig] = Field(default_factory=list)


class AlertsConfig(Section):
    enabled: bool = True
    for_s: Annotated[float, Field(ge=0)] = 120.0
    keep_firing_for_s: Annotated[float, Field(ge=0)] = 300.0
    tolerated_loss_pct: Annotated[float, Field(ge=0, lt=100)] = 3.0
    clear_loss_pct: Annotated[float, Field(ge=0, lt=100)] = 1.0
    max_age: str = "14d"
    """A crossover older than this is expired: shown, not alerted on."""
    evaluate_every_s: Seconds = 5.0


class ChannelConfig(Section):
    name: Name
    kind: Literal["slack", "webhook", "stdout"]
    url: str | None = None
    """Only where the address is no secret."""
    url_env: str | None = None
    url_file: str | None = None
    timeout_s: Seconds = 10.0
    send_resolved: bool = True


class Config(Section):
    store: StoreConfig = Field(default_factory=StoreConfig)
    scrape: ScrapeConfig = Field(default_factory=ScrapeConfig)
    serve: ServeConfig = Field(default_factory=ServeConfig)
    endpoint: list[EndpointConfig] = Field(default_factory=list)
    alerts: AlertsConfig = Field(default_factory=AlertsConfig)
    channel: list[ChannelConfig] = Field(default_factory=list)
