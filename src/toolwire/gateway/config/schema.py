"""The tables and keys of a configuration file.

[models."claude-*"]
upstream = "anthropic"

[models.fast]
upstream = "groq"
model = "llama-4"
fallbacks = ["claude-haiku"]
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from toolwire.gateway.usage.prices import Price
from toolwire.providers.http.policy import TIMEOUTS
from toolwire.wires.engine.cache_breakpoints import BreakpointPolicy

DEMO = "demo"
"""The upstream that is a mock in this process."""


class ModelConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[models.NAME]`, one table for each name that clients may use.

    A name may be a pattern with `*`; the longest pattern that matches counts.
    """

    upstream: str
    """The provider or profile, as `toolwire wires` lists them; `demo` or `demo:PROVIDER` for the
    mock in this process."""
    model: str | None = None
    """The provider's name of the model. By default the name that the client used; for `groq/*` the
    text after the slash."""
    base_url: str | None = None
    """The address to use instead of the provider's own, with or without its version (`/v1`). If it
    ends with a slash, no version is added."""
    key_env: str | None = None
    """The environment variable with the API key. By default the one that the provider's own tools
    use."""
    key_file: str | None = None
    """A file with the API key and nothing else, relative to this file."""
    fallbacks: tuple[str, ...] = ()
    """Models to try, in this order, if this one gives no response. Only before the first byte."""
    balance: tuple[str, ...] = ()
    """Models that share the requests for this one: each goes to the least busy of them. One that
    fails is tried last for a while."""
    connect_timeout: float = TIMEOUTS.connect
    """Seconds to establish a connection."""
    idle_timeout: float = TIMEOUTS.idle
    """Seconds without a byte after which a response counts as broken."""
    concurrency: int | None = None
    """The maximum number of concurrent requests in one process; further requests wait."""
    headers: tuple[str, ...] = ()
    """Request headers of the client to forward, such as `anthropic-beta`."""
    cache_breakpoints: BreakpointPolicy = "keep"
    """`auto` marks prompts for the provider's cache if the client marks none and the provider
    caches nothing without marks, as for Claude. Marks of the client are translated in any case."""
    settings: dict[str, str | int | float | bool | list[str]] = field(default_factory=dict)
    """Settings that replace those of the client, such as `temperature`."""


class ToolServerConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[tools.servers."SOURCE"]`: the credentials and secrets for one server of `sources`."""

    key_env: str | None = None
    """The environment variable with the API key for this server."""
    token_env: str | None = None
    """The environment variable with a bearer token, instead of a key."""
    secrets: tuple[str, ...] = ()
    """Environment variables that the tools of this server may get, if they declare them."""


class ToolsConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[tools]`: tools that every model can call and the gateway runs."""

    sources: tuple[str, ...] = ()
    """Python files and packages, OXP servers (`http://…`), MCP servers (`mcp+http://…`,
    `mcp:COMMAND`)."""
    ledger: str = "memory:"
    """Where calls are recorded: `sqlite:///FILE`, `postgresql://…`, or in memory."""
    max_turns: int = 20
    """The maximum number of model responses to one request."""
    parallel: int = 8
    """The maximum number of concurrent tool calls of one request."""
    tool_timeout: float = 300.0
    """Seconds that a tool call may take."""
    idempotency_window: float = 600.0
    """Seconds in which a repeated request replays recorded tool results instead of running the
    tools again."""
    show_tool_calls: Literal["text", "none"] = "text"
    """How clients see these calls if their wire has no provider-executed calls: as text, or not at
    all."""
    secrets: tuple[str, ...] = ()
    """Environment variables that the Python tools of `sources` may get. Servers get only those of
    their own table."""
    servers: dict[str, ToolServerConfig] = field(default_factory=dict)
    """`[tools.servers."SOURCE"]`: the credentials and secrets of each server."""


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[server]`."""

    host: str = "127.0.0.1"
    """The address to listen on. Addresses other than loopback require keys."""
    port: int = 8080
    """The port to listen on; 0 for any free one."""
    strict: bool = False
    """Reject histories that need a repair."""
    default: str | None = None
    """The model for requests that name none."""
    max_body_mb: float = 32.0
    """The largest request body."""
    allowed_hosts: tuple[str, ...] = ()
    """Accepted values of the Host header, in addition to localhost; `*` accepts any."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose web pages may use the gateway, such as `https://app.example`."""
    log: Literal["text", "json"] = "text"
    """The format of the log, which has one line for each request."""
    worker_timeout: float = 30.0
    """Seconds without a heartbeat after which a hanging worker process is killed and replaced."""


class KeysConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[keys]`: virtual keys of clients."""

    file: str | None = None
    """A file with virtual keys (`.toml`, `.jsonl`, `.db`) as `toolwire keys add` writes it,
    relative to this file."""


class UsageConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[usage]`: the usage of clients, by key, model and day."""

    store: str | None = None
    """Where usage is kept: `sqlite:///FILE` or `postgresql://…`. Processes with the same store
    share the limits of keys."""


class ResponsesConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`[responses]`: responses that clients continue by `previous_response_id` or
    `previous_interaction_id`, for models whose provider does not keep them."""

    store: str | None = None
    """Where responses are kept: `memory:`, `sqlite:///FILE` or `postgresql://…`. By default
    nowhere: clients have to send the whole conversation."""
    max_mb: float = 256.0
    """Megabytes of all kept responses; the oldest are removed first."""
    max_age: float = 2592000.0
    """Seconds that a response is kept."""


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole configuration file."""

    server: ServerConfig = ServerConfig()
    models: dict[str, ModelConfig] = field(default_factory=dict)
    tools: ToolsConfig = ToolsConfig()
    keys: KeysConfig = KeysConfig()
    usage: UsageConfig = UsageConfig()
    responses: ResponsesConfig = ResponsesConfig()
    prices: dict[str, Price] = field(default_factory=dict)


TABLES: dict[str, type[Struct]] = {
    "server": ServerConfig,
    "tools": ToolsConfig,
    "keys": KeysConfig,
    "usage": UsageConfig,
    "responses": ResponsesConfig,
}
"""Tables that occur once."""
NAMED_TABLES: dict[str, type[Struct]] = {"models": ModelConfig, "prices": Price}
"""Tables with one table for each name: `[models.NAME]`."""


def is_demo(upstream: str) -> bool:
    """True if an upstream is the mock in this process."""
    return upstream.partition(":")[0] == DEMO
