"""The models of a configuration: where a request for a name goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from toolwire.conversation.model import Setting
from toolwire.errors import ConfigError, UsageError
from toolwire.gateway.config.checks import find_mistakes
from toolwire.gateway.config.mistakes import suggest
from toolwire.gateway.config.schema import DEMO, Config, ModelConfig, is_demo
from toolwire.profiles.table import PROFILES
from toolwire.providers.endpoints import (
    ModelEndpoint,
    complete_base_url,
    find_endpoint,
    find_provider,
)
from toolwire.providers.http.policy import Timeouts
from toolwire.providers.table import BY_NAME

MAX_MODEL_NAME = 256
"""Characters of a model name. Names are cached, and clients choose them."""
_MAX_CACHED_NAMES = 1000
_FOLDER_SUFFIX = "/*"


class ModelTarget(Struct, frozen=True, kw_only=True):
    """A model that a request can go to."""

    name: str
    """The name that the client used, or that of a fallback."""
    table: str
    """The name or pattern in the configuration."""
    config: ModelConfig
    endpoint: ModelEndpoint
    timeouts: Timeouts
    settings: dict[str, Setting] = {}
    shares_load: bool = False
    """True for the models among which a request for a balanced model chooses."""
    translation_key: tuple[str, ...] = ()
    """Equal for targets whose requests are translated in the same way."""
    forwarded_headers: tuple[tuple[bytes, str], ...] = ()
    """The header fields of clients that the model gets: their names as received and as sent."""

    def __post_init__(self) -> None:
        provider = self.endpoint.provider
        key = (
            provider.profile,
            self.endpoint.model,
            repr(self.settings) if self.settings else "",
            self.config.cache_breakpoints,
            " ".join(provider.sampling_fields),
        )
        force_setattr(self, "translation_key", key)
        force_setattr(self, "forwarded_headers", _header_names(self.config.headers))


def _header_names(names: Sequence[str]) -> tuple[tuple[bytes, str], ...]:
    """Names of header fields as a server receives and as a client sends them."""
    return tuple([(name.lower().encode(), name.lower()) for name in names])


def _no_files(name: str) -> str:
    raise FileNotFoundError(2, "no such file")


class ModelTable:
    """The models of a configuration, by the names that clients use."""

    def __init__(
        self,
        config: Config,
        env: Mapping[str, str],
        *,
        demo_url: str | None = None,
        read_file: Callable[[str], str] = _no_files,
        check: bool = True,
    ) -> None:
        """Resolve every model.

        Args:
            config: the configuration.
            env: environment variables with keys and addresses.
            demo_url: the address of the mock in this process; None without a mock.
            read_file: reads a file of the configuration, such as `key_file`.
            check: False if the caller looks for mistakes itself.

        Raises:
            ConfigError: lists everything that is wrong.
        """
        self.config = config
        self._env = env
        self._demo_url = demo_url
        self._read_file = read_file
        self._found: dict[str, list[ModelTarget]] = {}
        mistakes = find_mistakes(config, self) if check else []
        if mistakes:
            raise ConfigError(*map(str, mistakes))

    def names(self) -> list[str]:
        """The names of models, without patterns."""
        return sorted(name for name in self.config.models if "*" not in name)

    def secrets(self) -> list[str]:
        """The keys of all upstreams."""
        return [
            secret
            for name, config in self.config.models.items()
            for secret in self.endpoint(name.replace("*", "x"), name, config).secrets()
        ]

    def find(self, name: str | None) -> list[ModelTarget]:
        """The targets of a request for a model, in the order to try them; none if there is no such
        model."""
        wanted = name or self.config.server.default or ""
        targets = self._found.get(wanted)
        if targets is None:
            if not wanted or len(wanted) > MAX_MODEL_NAME or not is_unicode(wanted):
                return []
            targets = self._targets(wanted, set())
            if targets:
                if len(self._found) >= _MAX_CACHED_NAMES:
                    self._found.clear()
                self._found[wanted] = targets
        return targets

    def match(self, name: str) -> str | None:
        """The name or pattern of the configuration that a model name belongs to."""
        models = self.config.models
        if name in models:
            return name
        matches = [
            pattern
            for pattern, config in models.items()
            # `groq/` alone names no model of the provider
            if "*" in pattern
            and fnmatchcase(name, pattern)
            and (config.model or _provider_model(name, pattern))
        ]
        return max(matches, key=len, default=None)

    def _targets(self, name: str, visited: set[str]) -> list[ModelTarget]:
        table = self.match(name)
        if table is None or table in visited:
            return []
        visited.add(table)
        config = self.config.models[table]
        targets = [self._target(name, table, config)]
        for other in config.balance:
            targets += self._targets(other, visited)
        if len(targets) > 1:
            targets = [replace(target, shares_load=True) for target in targets]
        for fallback in config.fallbacks:
            targets += self._targets(fallback, visited)
        return targets

    def _target(self, name: str, table: str, config: ModelConfig) -> ModelTarget:
        settings: dict[str, Setting] = {}
        for key, value in config.settings.items():
            settings[key] = [*value] if isinstance(value, list) else value
        return ModelTarget(
            name=name,
            table=table,
            config=config,
            endpoint=self.endpoint(name, table, config),
            timeouts=Timeouts(config.connect_timeout, config.idle_timeout),
            settings=settings,
        )

    def endpoint(self, name: str, table: str, config: ModelConfig) -> ModelEndpoint:
        """Where a model is served.

        Raises:
            UsageError: the provider is unknown, or its address or key is missing. The message
                starts with the key of the configuration that is wrong.
        """
        model = config.model or _provider_model(name, table)
        if is_demo(config.upstream):
            return self._demo_endpoint(model, config.upstream.partition(":")[2] or "openai")
        if config.upstream not in BY_NAME and config.upstream not in PROFILES:
            hint = suggest(config.upstream, [*BY_NAME, *PROFILES, DEMO])
            raise UsageError(f"upstream: unknown provider {config.upstream}{hint}")
        key, base_url = self._api_key(config), config.base_url
        provider = find_provider(config.upstream)
        if base_url is not None and provider is not None:
            base_url = complete_base_url(provider, base_url)
        try:
            return find_endpoint(
                f"{config.upstream}:{model}", self._env, base_url=base_url, api_key=key
            )
        except UsageError as error:
            reason = error.why.removeprefix(f"{config.upstream}:{model}: ")
            raise UsageError(f"upstream: {config.upstream}: {reason}") from None

    def _demo_endpoint(self, model: str, provider: str) -> ModelEndpoint:
        row = BY_NAME.get(provider)
        if row is None:
            hint = suggest(provider, BY_NAME)
            raise UsageError(f"upstream: there is no demo of {provider}{hint}")
        if self._demo_url is None:
            raise UsageError("upstream: this gateway serves no demo model")
        has_version = row.base_url.endswith("/v1") or row.path == "/chat/completions"
        base = f"{self._demo_url}/{provider}{'/v1' if has_version else ''}"
        return find_endpoint(f"{provider}:{model}", {}, base_url=base, api_key=DEMO)

    def _api_key(self, config: ModelConfig) -> str | None:
        if config.key_env is not None:
            key = self._env.get(config.key_env)
            if not key:
                reason = f"the environment variable {config.key_env} is not set"
                raise UsageError(f"key_env: {reason}")
            return key
        if config.key_file is None:
            return None
        try:
            key = self._read_file(config.key_file).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = str(error.strerror).lower() if isinstance(error, OSError) else "not text"
            raise UsageError(f"key_file: {config.key_file}: {reason}") from None
        if not key or len(key.split()) > 1:
            reason = "expected one key and nothing else"
            raise UsageError(f"key_file: {config.key_file}: {reason}")
        return key


def is_unicode(name: str) -> bool:
    """False if a text cannot be sent, because JSON escaped a lone surrogate in it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _provider_model(name: str, pattern: str) -> str:
    """The provider's name of a model: for `groq/*` the text after the slash."""
    return name.removeprefix(pattern[:-1]) if pattern.endswith(_FOLDER_SUFFIX) else name
