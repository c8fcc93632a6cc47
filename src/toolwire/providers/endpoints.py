"""Find the endpoint of a model by its name.

`anthropic:claude-opus-5` names a provider and a model. `https://host/v1#vllm:my-model` names a
server, the provider or profile whose API it has, and a model. Opens no connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import Object
from toolwire.errors import UsageError, suggest
from toolwire.profiles.table import find_profile
from toolwire.providers.table import BY_NAME, PROVIDERS, Provider

_VERSIONLESS_PATHS = ("/chat/completions", "/responses")
"""Paths of APIs whose version is part of the address."""
_VERSION = re.compile(r"v\d+(?:alpha|beta)?\d*")
_SIGNING_ENVS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class ModelEndpoint(Struct, frozen=True, kw_only=True, eq=False):
    """One model of one provider: its address and the key. Two endpoints are never equal."""

    provider: Provider
    model: str
    base_url: str
    api_key: str | None = None
    signing: Mapping[str, str] = {}
    """The environment variables that signatures are made with."""

    def url(self, *, stream: bool) -> str:
        """The URL of requests."""
        path = self.provider.path
        if stream and self.provider.stream_path:
            path = self.provider.stream_path
        return self.base_url.rstrip("/") + path.replace("{model}", quote(self.model, safe=""))

    def body(self, body: Object, *, stream: bool) -> Object:
        """Return a request with the fields that ask for a stream, or for none."""
        provider = self.provider
        complete = dict(body)
        complete.pop("stream", None)
        for name in provider.path_fields:
            complete.pop(name, None)
        complete.update(provider.stream_fields if stream else provider.whole_fields)
        return complete

    def __repr__(self) -> str:
        """The endpoint without the key and without a password in the address, for logs."""
        scheme, _, rest = self.base_url.partition("://")
        address = f"{scheme}://{rest.rpartition('@')[2]}"
        return f"ModelEndpoint({self.provider.name}:{self.model} at {address})"

    def secrets(self) -> list[str]:
        """Values that must not reach logs and errors."""
        login = self.base_url.partition("://")[2].partition("/")[0].rpartition("@")[0]
        signing = (self.signing.get("AWS_SECRET_ACCESS_KEY"), self.signing.get("AWS_SESSION_TOKEN"))
        values = (self.api_key, *signing, login, login.partition(":")[2])
        return [value for value in values if value]

    __str__ = __repr__


def find_endpoint(
    model: str,
    env: Mapping[str, str],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    provider: Provider | None = None,
) -> ModelEndpoint:
    """Return the endpoint of a model.

    Args:
        model: `PROVIDER:MODEL` or `URL#PROVIDER:MODEL`; only the model if `provider` is given.
        env: Environment variables, for keys and addresses.
        base_url: The address, instead of the provider's usual one.
        api_key: The key, instead of that of the environment.
        provider: A provider that toolwire does not know.

    Raises:
        UsageError: No such provider, no model, no address or no key; it says what to set.
    """
    if provider is not None:
        name = model
    elif model.startswith(("http://", "https://")):
        base_url, provider, name = _split_url(model)
    else:
        provider, name = _split_name(model)
    if not name:
        raise UsageError(f"{model}: name a model, as in {provider.name}:some-model")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    # The file of a secret often ends in a line break
    key = (api_key or _read_key(provider, env)).strip() or None
    if key is not None and not key.isprintable():
        raise UsageError(f"{model}: the API key has a line break in it; set it to one line")
    address = _find_address(model, provider, env, base_url=base_url, region=region)
    signing = {
        variable: env[variable]
        for variable in (*_SIGNING_ENVS, "AWS_SESSION_TOKEN")
        if env.get(variable)
    }
    if provider.auth == "sigv4" and key is None:
        if not all(variable in signing for variable in _SIGNING_ENVS):
            raise UsageError(
                f"{model}: no key; set {' and '.join(_SIGNING_ENVS)}, or {provider.key_envs[0]}"
            )
        signing["region"] = region
    else:
        signing = {}
        optional = provider.keyless or base_url is not None or _is_local(address)
        if key is None and provider.key_envs and not optional:
            raise UsageError(
                f"{model}: no API key; set the environment variable"
                f" {' or '.join(provider.key_envs)}"
            )
    return ModelEndpoint(
        provider=provider, model=name, base_url=address, api_key=key, signing=signing
    )


def _read_key(provider: Provider, env: Mapping[str, str]) -> str:
    """The key of a provider in the environment; empty if there is none."""
    return next((env[name] for name in provider.key_envs if env.get(name)), "")


def complete_base_url(provider: Provider, base_url: str) -> str:
    """An address with the version that a provider's paths need, added unless it is there.

    `http://host:8000` and `http://host:8000/v1` are the same server of a provider with
    `/chat/completions`, and so are `https://host` and `https://host/v1` of one with `/v1/messages`.
    A final slash keeps a server at the root: `http://host:8000/`. The whole path of the API may be
    part of the address too.
    """
    base_url = base_url.removesuffix(provider.path)
    scheme, _, rest = base_url.partition("://")
    host, slash, path = rest.partition("/")
    if provider.path in _VERSIONLESS_PATHS:
        usual = provider.base_url.partition("://")[2].partition("/")[2]
        return base_url if slash or not usual else f"{scheme}://{host}/{usual}"
    before, _, last = path.rstrip("/").rpartition("/")
    if not _VERSION.fullmatch(last):
        return base_url
    return f"{scheme}://{host}/{before}".rstrip("/")


def _split_name(model: str) -> tuple[Provider, str]:
    """The provider and the model of `PROVIDER:MODEL`."""
    name, colon, rest = model.partition(":")
    provider = find_provider(name)
    if provider is not None:
        return provider, rest
    if not colon:
        raise UsageError(
            f"{model}: name a provider and a model, as in openai:gpt-5;"
            f" providers are {', '.join(BY_NAME)}"
        )
    raise UsageError(f"{model}: there is no provider {name}{suggest(name, BY_NAME)}")


def _split_url(model: str) -> tuple[str, Provider, str]:
    """The address, the provider and the model of `URL#PROVIDER:MODEL`."""
    base_url, _, rest = model.partition("#")
    name, _, named_model = rest.partition(":")
    provider = find_provider(name)
    if provider is None or not named_model:
        raise UsageError(f"{model}: name the API and the model, as in {base_url}#vllm:some-model")
    return base_url, provider, named_model


def find_provider(name: str) -> Provider | None:
    """The provider of a name; for a profile, a provider that follows it or has the same wire."""
    if name in BY_NAME:
        return BY_NAME[name]
    profile = find_profile(name)
    if profile is None:
        return None
    for provider in PROVIDERS:
        if provider.profile == profile.name:
            return provider
    for provider in PROVIDERS:
        if provider.profile == profile.wire:
            return replace(provider, name=name, profile=name)
    return None


def _find_address(
    model: str, provider: Provider, env: Mapping[str, str], *, base_url: str | None, region: str
) -> str:
    address = base_url or env.get(provider.base_url_env, "")
    address = address or provider.base_url.replace("{region}", region)
    if not address:
        variable = provider.base_url_env
        where = f"set the environment variable {variable}" if variable else "give a base URL"
        raise UsageError(f"{model}: {provider.name} has no default address; {where}")
    if "://" in address:
        return address
    port = "" if ":" in address else provider.base_url.rpartition(":")[2]  # only a host
    return f"http://{address}:{port}" if port.isdecimal() else f"http://{address}"


def _is_local(base_url: str) -> bool:
    host = base_url.split("://", 1)[-1].split("/", 1)[0].rsplit(":", 1)[0]
    return host in ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")
