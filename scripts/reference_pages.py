"""Reference pages that are generated from tables of the code: providers, environment variables,
metrics, the Python API, and the list of pages for language models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from page_markdown import GENERATED, cell, code, table

import toolwire
from toolwire.execution.call_metrics import METRICS as EXECUTOR_METRICS
from toolwire.execution.metrics import Metric
from toolwire.gateway.observe.metrics import METRICS as GATEWAY_METRICS
from toolwire.providers.table import PROVIDERS, Provider

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
SECTIONS = {
    "tutorial": "Tutorial",
    "how-to": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
    "contributing": "Contributing",
}
AUTH = {
    "bearer": "`Authorization: Bearer`",
    "x-api-key": "`x-api-key`",
    "api-key": "`api-key`",
    "x-goog-api-key": "`x-goog-api-key`",
    "sigv4": "AWS signature, or the key as a bearer token",
    "none": "nothing",
}
VARIABLES = {
    "TOOLWIRE_API_KEY": (
        "The key that `toolwire call`, `tools` and `run` send to a tool server, if one server is named."
        " With several, `TOOLWIRE_API_KEY_HOST` is for each: `TOOLWIRE_API_KEY_TOOLS_EXAMPLE`."
    ),
    "TOOLWIRE_API_KEYS": "The keys that `toolwire serve --auth key` accepts: `name=key`, separated by commas.",
    "TOOLWIRE_JWT_SECRET": "The secret with which `toolwire serve --auth jwt` verifies tokens.",
    "_TOOLWIRE_COMPLETE": "Prints the completion of a shell: `bash_source`, `zsh_source` or `fish_source`.",
    "TOOLWIRE_KEY": "The virtual key that `toolwire probe` sends to a gateway.",
    "TOOLWIRE_LEDGER": "The ledger of `toolwire serve`, instead of `--ledger`.",
    "TOOLWIRE_MODEL": "The model of `toolwire run`, instead of `--model`.",
    "TOOLWIRE_TOKEN": "A signed token that `toolwire call`, `tools` and `run` send to a tool server.",
    "TOOLWIRE_URL": "The tool server of `toolwire call`, instead of `--url`.",
}
"""The meaning of toolwire's environment variables; a test compares their names with the code."""
OTHERS = {
    "http_proxy, https_proxy, all_proxy, no_proxy": "Proxies for requests to providers and tool servers. Servers on this machine are reached directly.",
    "SSL_CERT_FILE, SSL_CERT_DIR": "Certificates that are trusted in addition to those of the system.",
    "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION": "Credentials and region for Bedrock.",
    "NO_COLOR, FORCE_COLOR, COLUMNS": "Colours and width of the output at a terminal.",
}


def reference_pages() -> Iterator[tuple[Path, str]]:
    """Every page of this module, by its path."""
    yield REFERENCE / "providers.md", providers_page()
    yield REFERENCE / "environment.md", environment_page()
    yield REFERENCE / "metrics.md", metrics_page()
    yield REFERENCE / "python.md", python_page()


def _page(title: str, audience: str, *parts: str) -> str:
    return (
        "\n\n".join((GENERATED, f"# {title}", audience, *(part.strip() for part in parts))) + "\n"
    )


def _names(values: Iterable[str]) -> str:
    return ", ".join(code(value) for value in values)


def providers_page() -> str:
    """The address of each provider, and the variables in which its key is looked up."""
    head = ("provider", "key in", "address", "address in", "profile")
    return _page(
        "Providers",
        "For people who want to know which environment variable holds the API key of a provider, and where requests go.",
        "A provider is named in `provider:model`, in `upstream` of a gateway, and in `toolwire run --model`. The first variable that"
        " is set is used. `toolwire.providers()` lists the names.",
        table(head, map(_provider_row, PROVIDERS)),
        "How the key is sent: "
        + "; ".join(
            f"{_names(p.name for p in PROVIDERS if p.auth == auth)} as {words}"
            for auth, words in AUTH.items()
            if any(provider.auth == auth for provider in PROVIDERS)
        )
        + ".",
        "A server of your own is `https://host/v1#vllm:my-model`, or `base_url` with the `upstream` whose API it has. A provider that is"
        " not in the table is a `Provider(...)`: see `examples/custom_provider.py`.",
    )


def _provider_row(provider: Provider) -> list[str]:
    key = _names(provider.key_envs)
    return [
        code(provider.name),
        f"{key} (optional)" if key and provider.keyless else key or "no key",
        code(provider.base_url) or "yours",
        code(provider.base_url_env),
        f"[{provider.profile}](profiles.md#{provider.profile.replace('.', '')})",
    ]


def environment_page() -> str:
    """Every environment variable that toolwire reads."""
    keys = sorted({key for provider in PROVIDERS for key in provider.key_envs})
    urls = sorted({p.base_url_env for p in PROVIDERS if p.base_url_env})
    by_key = {key: [p.name for p in PROVIDERS if key in p.key_envs] for key in keys}
    by_url = {url: [p.name for p in PROVIDERS if p.base_url_env == url] for url in urls}
    return _page(
        "Environment variables",
        "For people who configure toolwire in a shell, a container or a CI job.",
        "## toolwire",
        table(
            ("variable", "meaning"), ([code(name), cell(text)] for name, text in VARIABLES.items())
        ),
        "## Keys of providers",
        table(("variable", "providers"), ([code(k), _names(v)] for k, v in by_key.items())),
        "## Addresses of providers",
        table(("variable", "providers"), ([code(k), _names(v)] for k, v in by_url.items())),
        "## Others",
        table(
            ("variables", "meaning"),
            ([_names(names.split(", ")), text] for names, text in OTHERS.items()),
        ),
    )


def metrics_page() -> str:
    """The metrics of gateway and tool server."""
    return _page(
        "Metrics",
        "For people who watch a gateway or a tool server with Prometheus.",
        "`GET /metrics` returns these metrics. If the gateway has keys, or the tool server `--auth`, the request needs a key. The values of"
        " labels come from tables and the configuration, never from a client. Histograms count seconds.",
        "## Gateway",
        _metrics_table("toolwire_gateway_", GATEWAY_METRICS),
        "## Tool server",
        _metrics_table("toolwire_", EXECUTOR_METRICS),
    )


def _metrics_table(prefix: str, metrics: dict[str, Metric]) -> str:
    rows = (
        [code(prefix + name), metric.type, _names(metric.labels), cell(metric.help)]
        for name, metric in metrics.items()
    )
    return table(("metric", "type", "labels", "meaning"), rows)


GROUPS = {
    "Read, write, translate": "decode encode translate fold restream detect Encoded IdMap Loss TranslatedStream"
    " AsyncTranslatedStream",
    "Check and repair": "check repair explain Finding Change Repaired Explanation",
    "Session files": "open_session Session",
    "Continue a history": "pending resume abandon cut",
    "Conversations": "Conversation Message Part Text Reasoning Media Opaque Call Result Pair Tool Choice Format Usage",
    "Tools": "tool Tools ToolContext ToolExecutor SqliteLedger PostgresLedger ToolServer OxpClient McpClient",
    "Agents": "Agent AgentStream RunResult Limits Allow Deny Edit FileStore SqliteStore HttpModel Provider Timeouts RetryPolicy",
    "Gateway": "Gateway",
    "Lists": "wires profiles providers catalogue",
}
"""The public names by topic; errors, which are not listed here, come last."""


def python_page() -> str:
    """The public names with their docstrings, which the site reads from the code."""
    listed = {name for names in GROUPS.values() for name in names.split()}
    others = [name for name in toolwire.__all__ if name not in listed]
    parts = []
    for title, names in {**GROUPS, "Errors": " ".join(others)}.items():
        parts.append(f"## {title}")
        parts += [_directive(name) for name in names.split() if name in toolwire.__all__]
    return _page(
        "Python API",
        "For people who write Python: every public name, from its docstring.",
        "After `import toolwire`, all of these names are attributes of `toolwire`. Modules that take long to"
        " import are imported on first use.",
        *parts,
    )


def _directive(name: str) -> str:
    """The directive from which the site generates the entry of a public name.

    A function with the name of its module would be shown as the module.
    """
    if not (ROOT / "src" / "toolwire" / f"{name}.py").exists():
        return f"::: toolwire.{name}"
    return f"::: toolwire.{name}.{name}\n    options:\n      heading: toolwire.{name}"


def llms_text(generated: Mapping[Path, str]) -> str:
    """The index of the pages for language models, as llmstxt.org describes it."""

    def entry(page: Path) -> str:
        text = generated.get(page) or page.read_text(encoding="utf-8")
        return f"- [{_title(text)}]({page.relative_to(DOCS)}): {_audience(text, page)}"

    parts = [
        "# toolwire",
        "> Tool calls that keep their identity on every LLM wire: a Python library, command line, tool"
        " server, agent and gateway. It repairs conversations that providers refuse and translates"
        " between LLM APIs.",
    ]
    for folder, title in SECTIONS.items():
        pages = {*(DOCS / folder).glob("*.md"), *(DOCS / folder).glob("*/README.md")}
        pages |= {page for page in generated if page.parent == DOCS / folder}
        parts.append(f"## {title}\n\n" + "\n".join(map(entry, sorted(pages))))
    help_pages = [DOCS / "troubleshooting.md", DOCS / "glossary.md"]
    parts.append("## Help\n\n" + "\n".join(map(entry, help_pages)))
    return "\n\n".join(parts) + "\n"


def _title(text: str) -> str:
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert match is not None
    return match[1].replace("`", "")


def _audience(text: str, page: Path) -> str:
    """The first sentence of a page, which says who it is for."""
    match = re.search(r"^# [^\n]+\n\nFor (.+?[.:])(?:\s|$)", text, re.MULTILINE | re.DOTALL)
    assert match is not None, f"{page} does not say who it is for"
    return "for " + " ".join(match[1].split()).rstrip(":.")
