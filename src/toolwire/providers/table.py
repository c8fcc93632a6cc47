"""The providers of models: their addresses, keys, paths, and how each one is asked for a stream.

The histories that a provider accepts are described by its profile, not here. Opens no connection.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.errors import require_type

AuthScheme = Literal["bearer", "x-api-key", "api-key", "x-goog-api-key", "sigv4", "none"]
Fields = tuple[tuple[str, JSON], ...]


class Provider(Struct, frozen=True, kw_only=True):
    """How the models of one provider are reached."""

    name: str
    profile: str
    """The wire or profile that its API follows."""
    base_url: str = ""
    """The default address; empty if every customer has a separate one."""
    base_url_env: str = ""
    """The environment variable that replaces the address."""
    path: str = "/chat/completions"
    """Appended to the address; `{model}` stands for the model."""
    stream_path: str = ""
    """The path for streams, if it differs."""
    embeddings_path: str = ""
    """The path of embeddings in the form of OpenAI's API; empty if there are none."""
    key_envs: tuple[str, ...] = ()
    """Environment variables that may hold the key; the first that is set is used."""
    auth: AuthScheme = "bearer"
    """The header field of the key."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further header fields of every request."""
    sampling_fields: tuple[str, ...] = ()
    """Sampling settings that the version of the API in `headers` takes, although the current one
    refuses them."""
    stream_fields: Fields = (("stream", True),)
    """Fields of the body that ask for a stream."""
    whole_fields: Fields = ()
    """Fields of the body that ask for no stream, where streaming is the default."""
    path_fields: tuple[str, ...] = ()
    """Fields that stand in the path and not in the body."""
    native_tools: bool = True
    """True if its models have a tool API. If not, tools are described in text."""
    keyless: bool = False
    """True if requests without a key are allowed, as by servers that users run themselves."""
    start_command: str = ""
    """The command that starts such a server."""

    def __post_init__(self) -> None:
        require_type(self.key_envs, tuple | list, "a tuple of variables as key_envs=")
        require_type(self.headers, tuple | list, "a tuple of (name, value) as headers=")


_STREAM_WITH_USAGE: Fields = (("stream", True), ("stream_options", {"include_usage": True}))


def _chat(
    name: str,
    base_url: str,
    key_env: str = "",
    *,
    profile: str = "",
    base_url_env: str = "",
    start_command: str = "",
    embeddings: bool = True,
) -> Provider:
    """A provider with the API of OpenAI's chat completions."""
    return Provider(
        name=name,
        profile=profile or name,
        base_url=base_url,
        base_url_env=base_url_env,
        embeddings_path="/embeddings" if embeddings else "",
        key_envs=(key_env,) if key_env else (),
        stream_fields=_STREAM_WITH_USAGE,
        keyless=bool(start_command),
        start_command=start_command,
    )


PROVIDERS: tuple[Provider, ...] = (
    _chat(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        profile="openai-chat",
        base_url_env="OPENAI_BASE_URL",
    ),
    Provider(
        name="openai-responses",
        profile="openai-responses",
        base_url="https://api.openai.com/v1",
        base_url_env="OPENAI_BASE_URL",
        path="/responses",
        embeddings_path="/embeddings",
        key_envs=("OPENAI_API_KEY",),
    ),
    Provider(
        name="azure-openai",
        profile="azure-openai",
        base_url_env="AZURE_OPENAI_ENDPOINT",
        key_envs=("AZURE_OPENAI_API_KEY",),
        path="/openai/deployments/{model}/chat/completions?api-version=2025-04-01-preview",
        embeddings_path="/openai/deployments/{model}/embeddings?api-version=2025-04-01-preview",
        auth="api-key",
        stream_fields=_STREAM_WITH_USAGE,
    ),
    Provider(
        name="azure-foundry",
        profile="azure-foundry",
        base_url_env="AZURE_AI_ENDPOINT",
        key_envs=("AZURE_AI_API_KEY",),
        path="/openai/v1/responses",
        embeddings_path="/openai/v1/embeddings",
        auth="api-key",
    ),
    Provider(
        name="anthropic",
        profile="anthropic",
        base_url="https://api.anthropic.com",
        base_url_env="ANTHROPIC_BASE_URL",
        path="/v1/messages",
        key_envs=("ANTHROPIC_API_KEY",),
        auth="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
        sampling_fields=("temperature", "top_p", "top_k"),
    ),
    Provider(
        name="minimax-anthropic",
        profile="minimax-anthropic",
        base_url="https://api.minimax.io/anthropic",
        path="/v1/messages",
        key_envs=("MINIMAX_API_KEY",),
        auth="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
        sampling_fields=("temperature", "top_p", "top_k"),
    ),
    Provider(
        name="gemini",
        profile="gemini",
        base_url="https://generativelanguage.googleapis.com",
        base_url_env="GEMINI_BASE_URL",
        path="/v1beta/models/{model}:generateContent",
        stream_path="/v1beta/models/{model}:streamGenerateContent?alt=sse",
        key_envs=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        auth="x-goog-api-key",
        stream_fields=(),
        path_fields=("model",),
    ),
    Provider(
        name="gemini-interactions",
        profile="gemini-interactions",
        base_url="https://generativelanguage.googleapis.com",
        base_url_env="GEMINI_BASE_URL",
        path="/v1beta/interactions",
        stream_path="/v1beta/interactions?alt=sse",
        key_envs=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        auth="x-goog-api-key",
    ),
    Provider(
        name="vertex-gemini",
        profile="vertex-gemini",
        base_url_env="VERTEX_BASE_URL",
        key_envs=("VERTEX_ACCESS_TOKEN",),
        path="/publishers/google/models/{model}:generateContent",
        stream_fields=(),
        path_fields=("model",),
        stream_path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
    ),
    Provider(
        name="bedrock",
        profile="bedrock",
        base_url="https://bedrock-runtime.{region}.amazonaws.com",
        base_url_env="AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
        path="/model/{model}/converse",
        stream_path="/model/{model}/converse-stream",
        key_envs=("AWS_BEARER_TOKEN_BEDROCK",),
        auth="sigv4",
        stream_fields=(),
        path_fields=("modelId",),
    ),
    Provider(
        name="mistral",
        profile="mistral",
        base_url="https://api.mistral.ai/v1",
        embeddings_path="/embeddings",
        base_url_env="MISTRAL_BASE_URL",
        key_envs=("MISTRAL_API_KEY",),
    ),
    Provider(
        name="cohere",
        profile="cohere",
        base_url="https://api.cohere.com",
        base_url_env="CO_API_URL",
        path="/v2/chat",
        embeddings_path="/compatibility/v1/embeddings",
        key_envs=("CO_API_KEY", "COHERE_API_KEY"),
    ),
    Provider(
        name="ollama",
        profile="ollama",
        base_url="http://localhost:11434",
        base_url_env="OLLAMA_HOST",
        path="/api/chat",
        embeddings_path="/v1/embeddings",
        key_envs=("OLLAMA_API_KEY",),
        whole_fields=(("stream", False),),
        keyless=True,
        start_command="ollama serve",
    ),
    _chat(
        "gemini-openai", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"
    ),
    _chat("kimi", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", embeddings=False),
    _chat("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", embeddings=False),
    _chat("minimax", "https://api.minimax.io/v1", "MINIMAX_API_KEY", embeddings=False),
    _chat("qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    _chat("glm", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY"),
    _chat("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", embeddings=False),
    _chat("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", embeddings=False),
    _chat("xai", "https://api.x.ai/v1", "XAI_API_KEY", embeddings=False),
    _chat("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    _chat("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    _chat(
        "vllm",
        "http://localhost:8000/v1",
        "VLLM_API_KEY",
        base_url_env="VLLM_BASE_URL",
        start_command="vllm serve MODEL",
    ),
    _chat(
        "sglang",
        "http://localhost:30000/v1",
        base_url_env="SGLANG_BASE_URL",
        start_command="python -m sglang.launch_server --model-path MODEL",
    ),
    _chat(
        "llama.cpp",
        "http://localhost:8080/v1",
        base_url_env="LLAMA_CPP_BASE_URL",
        start_command="llama-server -m MODEL",
    ),
    _chat(
        "lm-studio",
        "http://localhost:1234/v1",
        base_url_env="LM_STUDIO_BASE_URL",
        start_command="lms server start",
    ),
    replace(
        _chat("text", "", "OPENAI_API_KEY", base_url_env="TEXT_BASE_URL"),
        keyless=True,
        native_tools=False,
        profile="openai-chat",
    ),
)
BY_NAME = {provider.name: provider for provider in PROVIDERS}


def providers() -> list[str]:
    """Return the names of all providers, as in `HttpModel("openai:gpt-5")`."""
    return sorted(BY_NAME)
