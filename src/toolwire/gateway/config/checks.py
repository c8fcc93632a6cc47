"""Check that a configuration is consistent: providers, keys, fallbacks, headers and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec.structs import asdict

from toolwire.errors import ConfigError, UsageError
from toolwire.gateway.config.mistakes import Mistake, suggest, table_name
from toolwire.gateway.config.schema import Config, ModelConfig
from toolwire.gateway.usage.store import UsageStore
from toolwire.providers.endpoints import ModelEndpoint
from toolwire.providers.http.url import parse_url
from toolwire.server.cors import check_origin

_GATEWAY_HEADERS = {
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "host",
    "cookie",
    "content-length",
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "accept-encoding",
}
"""Headers that the gateway writes itself."""
_CONNECTION_HEADERS = {
    "connection",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
}
"""Headers about one connection only."""


_STORES = "expected memory:, sqlite:///FILE or postgresql://HOST/DATABASE"


class Models(Protocol):
    """Resolves the models of a configuration."""

    def match(self, name: str) -> str | None: ...
    def endpoint(self, name: str, table: str, config: ModelConfig) -> ModelEndpoint: ...
    def names(self) -> list[str]: ...


def find_mistakes(config: Config, models: Models) -> list[Mistake]:
    """Everything that is wrong with a configuration of valid form."""
    mistakes = [
        mistake
        for name, model in config.models.items()
        for mistake in _model_mistakes(name, model, models)
    ]
    default = config.server.default
    if default is not None and models.match(default) is None:
        hint = suggest(default, models.names())
        mistakes.append(Mistake("server", "default", f"unknown model {default}{hint}"))
    for origin in config.server.cors_origins:
        if (reason := check_origin(origin)) is not None:
            mistakes.append(Mistake("server", "cors_origins", f"{origin} {reason}"))
    for source in config.tools.servers:
        if source not in config.tools.sources:
            hint = suggest(source, config.tools.sources)
            mistakes.append(Mistake("tools", "servers", f"{source} is not in sources{hint}"))
    if config.usage.store is not None:
        try:
            UsageStore(config.usage.store)
        except ConfigError as error:
            mistakes.append(Mistake("usage", "store", str(error)))
    stores = (
        ("responses", "store", config.responses.store),
        ("tools", "ledger", config.tools.ledger),
    )
    for table, key, url in stores:
        if url is not None and not _names_store(url):
            mistakes.append(Mistake(table, key, _STORES))
    return [*mistakes, *_number_mistakes(config)]


def _names_store(url: str) -> bool:
    if url == "memory:" or url.startswith(("postgresql://", "postgres://")):
        return True
    return url.startswith("sqlite:///") and url != "sqlite:///"


def _model_mistakes(name: str, model: ModelConfig, models: Models) -> Iterator[Mistake]:
    table = table_name("models", name)
    try:
        models.endpoint(name.replace("*", "x"), name, model)
    except UsageError as error:
        key, _, reason = error.why.partition(": ")
        yield Mistake(table, key, reason)
    if model.key_env is not None and model.key_file is not None:
        yield Mistake(table, "key_file", "key_env is set too; keep one of them")
    if model.base_url is not None and (wrong := check_address(model.base_url)) is not None:
        yield Mistake(table, "base_url", wrong)
    for key, others in (("fallbacks", model.fallbacks), ("balance", model.balance)):
        for other in others:
            if other == name:
                yield Mistake(table, key, f"{other} is the model itself; remove it")
            elif models.match(other) is None:
                hint = suggest(other, models.names())
                yield Mistake(table, key, f"unknown model {other}{hint}")
    if model.concurrency is not None and model.concurrency < 1:
        yield Mistake(table, "concurrency", f"expected at least 1, got {model.concurrency}")
    timeouts = {"connect_timeout": model.connect_timeout, "idle_timeout": model.idle_timeout}
    for key, seconds in timeouts.items():
        if seconds <= 0:
            yield Mistake(table, key, f"expected more than 0 seconds, got {seconds:g}")
    headers = sorted({header.lower() for header in model.headers})
    for header in headers:
        if header in _GATEWAY_HEADERS:
            yield Mistake(table, "headers", f"the gateway writes {header} itself; remove it")
        elif header in _CONNECTION_HEADERS:
            reason = f"{header} belongs to one connection and is never forwarded; remove it"
            yield Mistake(table, "headers", reason)


def check_address(url: str) -> str | None:
    """The problem with an address, which may contain a password; None if it is valid."""
    if not url.startswith(("http://", "https://")):
        # Without a scheme, the text may start with a password.
        scheme, found, _ = url.partition("://")
        got = f", got {scheme}" if found else ""
        return f"expected http:// or https://{got}"
    try:
        parse_url(url)
    except ValueError:
        return "the host or the port is invalid; expected an address such as http://10.0.0.5:8000"
    return None


def _number_mistakes(config: Config) -> list[Mistake]:
    server, tools = config.server, config.tools
    checks = (
        ("server", "port", 0 <= server.port < 65536, "expected 0 to 65535"),
        ("server", "max_body_mb", server.max_body_mb > 0, "expected more than 0"),
        ("responses", "max_mb", config.responses.max_mb > 0, "expected more than 0"),
        ("responses", "max_age", config.responses.max_age > 0, "expected more than 0 seconds"),
        ("server", "worker_timeout", server.worker_timeout > 0, "expected more than 0 seconds"),
        ("tools", "max_turns", tools.max_turns > 0, "expected more than 0"),
        ("tools", "parallel", tools.parallel > 0, "expected more than 0"),
        ("tools", "tool_timeout", tools.tool_timeout > 0, "expected more than 0 seconds"),
        (
            "tools",
            "idempotency_window",
            tools.idempotency_window >= 0,
            "expected 0 or more seconds",
        ),
    )
    mistakes = [Mistake(table, key, message) for table, key, valid, message in checks if not valid]
    for name, price in config.prices.items():
        for key, value in asdict(price).items():
            if value is not None and value < 0:
                table = table_name("prices", name)
                mistakes.append(Mistake(table, key, f"expected 0 or more, got {value:g}"))
    return mistakes
