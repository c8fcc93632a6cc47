"""Where models are to be found: one row per provider, with its paths, its keys and how a stream is
asked for.

`anthropic:some-model` names a row and a model; `https://host/v1#profile:some-model` a server that
somebody runs. A row says nothing about a history: that is the profile's. Opens no connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, Object
from toolwire.errors import UsageError
from toolwire.profiles.table import PROFILES

Auth = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key", "sigv4", "none"]


class Provider(Struct, frozen=True, kw_only=True):
    """How one provider's models are reached."""

    name: str
    profile: str
    base: str = ""
    """The usual address; none where everybody has their own."""
    base_env: str = ""
    path: str = "/chat/completions"
    """Below the address; `{model}` is the model."""
    stream_path: str = ""
    """If a stream is asked for elsewhere."""
    keys: tuple[str, ...] = ()
    """The variables of the environment that may hold the key, the first that is set counts."""
    auth: Auth = "bearer"
    headers: tuple[tuple[str, str], ...] = ()
    asks: tuple[tuple[str, JSON], ...] = (("stream", True),)
    """The fields that ask for a stream."""
    whole: tuple[tuple[str, JSON], ...] = ()
    """The fields that ask for no stream, where one comes unasked."""
    drops: tuple[str, ...] = ()
    """Fields of the body that are said in the path."""
    native: bool = True
    """Whether its models have tools of their own."""
    free: bool = False
    """Whether it may be asked without a key: a server that people run themselves."""


_USAGE: tuple[tuple[str, JSON], ...] = (
    ("stream", True),
    ("stream_options", {"include_usage": True}),
)


def _chat(
    name: str, base: str, key: str = "", *, profile: str = "", env: str = "", free: bool = False
) -> Provider:
    """A row of one that speaks the chat shape."""
    keys = (key,) if key else ()
    return Provider(
        name=name,
        profile=profile or name,
        base=base,
        base_env=env,
        keys=keys,
        asks=_USAGE,
        free=free,
    )


ROWS: tuple[Provider, ...] = (
    _chat(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        profile="openai-chat",
        env="OPENAI_BASE_URL",
    ),
    Provider(
        name="openai-responses",
        profile="openai-responses",
        base="https://api.openai.com/v1",
        base_env="OPENAI_BASE_URL",
        path="/responses",
        keys=("OPENAI_API_KEY",),
    ),
    Provider(
        name="azure-openai",
        profile="azure-openai",
        base_env="AZURE_OPENAI_ENDPOINT",
        keys=("AZURE_OPENAI_API_KEY",),
        path="/openai/deployments/{model}/chat/completions?api-version=2025-04-01-preview",
        auth="api-key",
        asks=_USAGE,
    ),
    Provider(
        name="azure-foundry",
        profile="azure-foundry",
        base_env="AZURE_AI_ENDPOINT",
        keys=("AZURE_AI_API_KEY",),
        path="/openai/v1/responses",
        auth="api-key",
    ),
    Provider(
        name="anthropic",
        profile="anthropic",
        base="https://api.anthropic.com",
        base_env="ANTHROPIC_BASE_URL",
        path="/v1/messages",
        keys=("ANTHROPIC_API_KEY",),
        auth="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
    ),
    Provider(
        name="minimax-anthropic",
        profile="minimax-anthropic",
        base="https://api.minimax.io/anthropic",
        path="/v1/messages",
        keys=("MINIMAX_API_KEY",),
        auth="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
    ),
    Provider(
        name="gemini",
        profile="gemini",
        base="https://generativelanguage.googleapis.com",
        base_env="GEMINI_BASE_URL",
        path="/v1beta/models/{model}:generateContent",
        stream_path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        auth="x-goog-api-key",
        asks=(),
        drops=("model",),
    ),
    Provider(
        name="vertex-gemini",
        profile="vertex-gemini",
        base_env="VERTEX_BASE_URL",
        keys=("VERTEX_ACCESS_TOKEN",),
        path="/publishers/google/models/{model}:generateContent",
        asks=(),
        drops=("model",),
        stream_path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
    ),
    Provider(
        name="bedrock",
        profile="bedrock",
        base="https://bedrock-runtime.{region}.amazonaws.com",
        base_env="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        path="/model/{model}/converse",
        stream_path="/model/{model}/converse-stream",
        keys=("AWS_BEARER_TOKEN_BEDROCK",),
        auth="sigv4",
        asks=(),
        drops=("modelId",),
    ),
    Provider(
        name="mistral",
        profile="mistral",
        base="https://api.mistral.ai/v1",
        base_env="MISTRAL_BASE_URL",
        keys=("MISTRAL_API_KEY",),
    ),
    Provider(
        name="cohere",
        profile="cohere",
        base="https://api.cohere.com",
        base_env="CO_API_URL",
        path="/v2/chat",
        keys=("CO_API_KEY", "COHERE_API_KEY"),
    ),
    Provider(
        name="ollama",
        profile="ollama",
        base="http://localhost:11434",
        base_env="OLLAMA_HOST",
        path="/api/chat",
        keys=("OLLAMA_API_KEY",),
        whole=(("stream", False),),
        free=True,
    ),
    _chat(
        "gemini-openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    _chat("kimi", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    _chat("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    _chat("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY"),
    _chat("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    _chat("glm", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    _chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    _chat("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    _chat("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    _chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _chat("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    _chat("vllm", "http://localhost:8000/v1", "VLLM_API_KEY", env="VLLM_BASE_URL", free=True),
    _chat("sglang", "http://localhost:30000/v1", env="SGLANG_BASE_URL", free=True),
    _chat("llama.cpp", "http://localhost:8080/v1", env="LLAMA_CPP_BASE_URL", free=True),
    _chat("lm-studio", "http://localhost:1234/v1", env="LM_STUDIO_BASE_URL", free=True),
    replace(
        _chat("text", "", "OPENAI_API_KEY", env="TEXT_BASE_URL", free=True),
        native=False,
        profile="openai-chat",
    ),
)
BY_NAME = {row.name: row for row in ROWS}


_SIGNING = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class ModelEndpoint(Struct, frozen=True, kw_only=True):
    """One model of one provider, with all that is needed to reach it but the key's use."""

    row: Provider
    model: str
    base: str
    key: str | None = None
    env: Mapping[str, str] = {}
    """What of the environment signing needs."""

    def url(self, *, stream: bool) -> str:
        """Where a request goes."""
        path = (self.row.stream_path or self.row.path) if stream else self.row.path
        return self.base.rstrip("/") + path.replace("{model}", quote(self.model, safe=""))

    def body(self, body: Object, *, stream: bool) -> Object:
        """The request with what asks for a stream, or for none."""
        kept = {
            key: value
            for key, value in body.items()
            if key not in self.row.drops and key != "stream"
        }
        return {**kept, **dict(self.row.asks if stream else self.row.whole)}

    def __repr__(self) -> str:
        """Without the key, and without a password in the address: this ends up in logs."""
        scheme, _, rest = self.base.partition("://")
        return f"Address({self.row.name}:{self.model} at {scheme}://{rest.rpartition('@')[2]})"

    def secrets(self) -> list[str]:
        """What must not be told."""
        login = self.base.partition("://")[2].partition("/")[0].rpartition("@")[0]
        signing = (self.env.get("AWS_SECRET_ACCESS_KEY"), self.env.get("AWS_SESSION_TOKEN"))
        return [one for one in (self.key, *signing, login, login.partition(":")[2]) if one]

    __str__ = __repr__


def address(
    text: str, env: Mapping[str, str], *, base: str | None = None, key: str | None = None
) -> ModelEndpoint:
    """The model that a text names. Raises UsageError that says what is missing and where it is
    looked for."""
    where, _, model = text.partition(":")
    row = BY_NAME.get(where)
    if text.startswith(("http://", "https://")):
        base, _, rest = text.partition("#")
        profile, _, model = rest.partition(":")
        row = BY_NAME.get(profile) or next((one for one in ROWS if one.profile == profile), None)
        if row is None or not model:
            raise UsageError(
                f"{text}: say which profile it speaks and which model, as in {base}#vllm:some-model"
            )
        row = replace(row, base_env="")
    if row is None and where in PROFILES:
        row = next(
            (
                replace(one, name=where, profile=where)
                for one in ROWS
                if one.profile == PROFILES[where].wire
            ),
            None,
        )
    if row is None:
        raise UsageError(f"{text}: no such provider; there are {', '.join(BY_NAME)}")
    if not model:
        raise UsageError(f"{text}: say which model, as in {row.name}:some-model")
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    found = base or env.get(row.base_env, "") or row.base.replace("{region}", region)
    if not found:
        raise UsageError(f"{text}: there is no usual address; set {row.base_env or 'one'}")
    if "://" not in found:  # a host, as some are used to name their own
        port = "" if ":" in found else row.base.rpartition(":")[2]
        found = f"http://{found}:{port}" if port.isdecimal() else f"http://{found}"
    wanted = key or next((env[one] for one in row.keys if env.get(one)), None)
    signs = row.auth == "sigv4" and not wanted
    kept = {one: env[one] for one in (*_SIGNING, "AWS_SESSION_TOKEN") if env.get(one)}
    if signs and not all(one in kept for one in _SIGNING):
        raise UsageError(f"{text}: there is no key; set {' and '.join(_SIGNING)}, or {row.keys[0]}")
    if (
        wanted is None
        and not signs
        and not row.free
        and row.keys
        and base is None
        and not _local(found)
    ):
        raise UsageError(f"{text}: there is no key; set {' or '.join(row.keys)}")
    return ModelEndpoint(
        row=row,
        model=model,
        base=found,
        key=wanted,
        env={**kept, "region": region} if signs else {},
    )


def _local(base: str) -> bool:
    host = base.split("://", 1)[-1].split("/", 1)[0].rsplit(":", 1)[0]
    return host in ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")
