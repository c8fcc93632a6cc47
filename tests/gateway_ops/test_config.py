"""The configuration of a gateway: what is valid, and the report of mistakes."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from toolwire.errors import ConfigError
from toolwire.gateway.config.environment import config_from_environment
from toolwire.gateway.config.files import ConfigSource
from toolwire.gateway.config.model_table import ModelTable
from toolwire.gateway.config.parser import read_config
from toolwire.gateway.key_files import read_keys

ROOT = Path(__file__).parents[2]
DEMO = "http://127.0.0.1:9"


def mistakes(text: str, env: dict[str, str] | None = None, folder: Path | None = None) -> list[str]:
    """Everything that `--check` reports about a configuration."""
    with TemporaryDirectory() as temporary:
        file = (folder or Path(temporary)) / "g.toml"
        file.write_text(text)
        source = ConfigSource(env=env or {}, demo_url=lambda: DEMO, file=file)
        try:
            source.load()
        except ConfigError as error:
            return [line.replace(f"{file.parent}/", "") for line in error.mistakes]
    return []


def test_every_mistake_is_reported_at_once_with_its_line_and_a_suggestion() -> None:
    text = """
[server]
prot = 8080
strict = "yes"

[models."claude-*"]
upstrem = "anthropic"
idle_timeout = "long"

[model.x]
upstream = "demo"

[models.fast]
upstream = "grok"

[tools]
sources = ["no_such_tools.py"]
max_turns = 0
"""
    assert mistakes(text) == [
        "g.toml:3: [server] prot: unknown key; did you mean port?",
        "g.toml:4: [server] strict: expected true or false, got a string",
        (
            'g.toml:6: [models."claude-*"] upstream: missing; name the provider, as in upstream ='
            ' "anthropic"'
        ),
        'g.toml:7: [models."claude-*"] upstrem: unknown key; did you mean upstream?',
        'g.toml:8: [models."claude-*"] idle_timeout: expected a number, got a string',
        "g.toml:10: model: unknown table; did you mean models?",
        "g.toml:14: [models.fast] upstream: unknown provider grok; did you mean groq?",
        "g.toml:17: [tools] sources: no_such_tools.py: no such file",
        "g.toml:18: [tools] max_turns: expected more than 0",
    ]


def test_text_that_is_not_toml_is_reported_with_its_place() -> None:
    (mistake,) = mistakes("[server\nport = 1")
    assert mistake.startswith("g.toml: not TOML: ") and "line 1" in mistake


def test_values_that_do_not_fit_together_are_reported_with_their_line() -> None:
    text = """
[server]
default = "fats"
port = 70000
[models.fast]
upstream = "groq"
fallbacks = ["slwo", "fast"]
concurrency = 0
headers = ["Authorization"]
key_env = "KEY"
[models.slow]
upstream = "anthropic"
key_env = "NOWHERE"
[models.own]
upstream = "vllm"
base_url = "ftp://x"
connect_timeout = 0.0
[models.none]
upstream = "demo:unknown"
"""
    found = mistakes(text, {"KEY": "k"})
    assert found[:-1] == [
        "g.toml:3: [server] default: unknown model fats; did you mean fast?",
        "g.toml:4: [server] port: expected 0 to 65535",
        "g.toml:7: [models.fast] fallbacks: unknown model slwo; did you mean slow?",
        "g.toml:7: [models.fast] fallbacks: fast is the model itself; remove it",
        "g.toml:8: [models.fast] concurrency: expected at least 1, got 0",
        "g.toml:9: [models.fast] headers: the gateway writes authorization itself; remove it",
        "g.toml:13: [models.slow] key_env: the environment variable NOWHERE is not set",
        "g.toml:16: [models.own] base_url: expected http:// or https://, got ftp",
        "g.toml:17: [models.own] connect_timeout: expected more than 0 seconds, got 0",
    ]
    assert found[-1].startswith("g.toml:19: [models.none] upstream: there is no demo of unknown")


def test_a_line_is_found_however_its_table_is_written() -> None:
    text = """
[models."gpt-5"]
upstream = "grok"
[ models . 'fast' ]
upstream = "grok"
[models."say \\"hi\\" # now"]
upstream = "grok"
[models]
inline = { upstream = "grok" }
dotted.upstream = "grok"
[tools]
sources = [
    "a.py",
]
servers."http://127.0.0.1:1" = {}
"""
    assert [mistake.partition(": ")[0] for mistake in mistakes(text)] == [
        "g.toml:3",
        "g.toml:5",
        "g.toml:7",
        "g.toml:9",
        "g.toml:10",
        "g.toml:12",
        "g.toml:15",
    ]


def test_a_missing_key_file_and_a_missing_tool_program_are_reported_with_their_lines() -> None:
    text = """
[keys]
file = "no_such_keys.toml"
[models.a]
upstream = "demo:"
[tools]
sources = ["mcp:no-such-program --port 1", "mcp:", "mcp:python 'x"]
"""
    assert mistakes(text) == [
        "g.toml:3: [keys] file: no_such_keys.toml: no such file",
        "g.toml:7: [tools] sources: mcp:no-such-program --port 1: no such command: no-such-program",
        "g.toml:7: [tools] sources: mcp:: name a command, as in mcp:uvx some-server",
        "g.toml:7: [tools] sources: mcp:python 'x: no closing quotation",
    ]


def test_a_mistake_in_a_table_does_not_hide_the_others_in_it() -> None:
    text = """
[server]
prot = 1
port = 70000
default = "fats"
cors_origins = ["*"]
[models.fast]
upstream = "openai"
key_env = "KEY"
base_url = "ftp://127.0.0.1"
idle_timeout = "long"
concurrency = 0
[tools]
max_turns = "many"
sources = ["no_such_tools.py"]
ledger = "mysql://user:secret@host/calls"
"""
    assert mistakes(text, {"KEY": "k"}) == [
        "g.toml:3: [server] prot: unknown key; did you mean port?",
        "g.toml:4: [server] port: expected 0 to 65535",
        "g.toml:5: [server] default: unknown model fats; did you mean fast?",
        (
            "g.toml:6: [server] cors_origins: * is not an origin; write it as https://app.example or"
            " http://localhost:3000"
        ),
        "g.toml:10: [models.fast] base_url: expected http:// or https://, got ftp",
        "g.toml:11: [models.fast] idle_timeout: expected a number, got a string",
        "g.toml:12: [models.fast] concurrency: expected at least 1, got 0",
        "g.toml:14: [tools] max_turns: expected an integer, got a string",
        "g.toml:15: [tools] sources: no_such_tools.py: no such file",
        (
            "g.toml:16: [tools] ledger: expected memory:, sqlite:///FILE or"
            " postgresql://HOST/DATABASE"
        ),
    ]


@pytest.mark.parametrize(
    "name", ("Content-Type", "content-encoding", "accept-encoding", "cookie", "host", "x-api-key")
)
def test_a_header_that_the_gateway_writes_itself_is_not_forwarded(name: str) -> None:
    (mistake,) = mistakes(f'[models.m]\nupstream = "demo"\nheaders = ["{name}"]')
    assert mistake == (
        f"g.toml:3: [models.m] headers: the gateway writes {name.lower()} itself; remove it"
    )


@pytest.mark.parametrize(
    "name", ("Expect", "te", "trailer", "upgrade", "keep-alive", "proxy-connection", "connection")
)
def test_a_header_about_one_connection_is_not_forwarded(name: str) -> None:
    (mistake,) = mistakes(f'[models.m]\nupstream = "demo"\nheaders = ["{name}"]')
    assert mistake == (
        f"g.toml:3: [models.m] headers: {name.lower()} belongs to one connection and is never"
        " forwarded; remove it"
    )


def test_an_address_without_a_scheme_is_not_repeated() -> None:
    (mistake,) = mistakes('[models.m]\nupstream = "vllm"\nbase_url = "me:hunter2@host/v1"')
    assert mistake == "g.toml:3: [models.m] base_url: expected http:// or https://"


@pytest.mark.parametrize("url", ["http://[", "http://host:99999", "http://a b", "http://"])
def test_an_invalid_address_is_reported_with_its_line_and_not_repeated(url: str) -> None:
    url = url.replace("//", "//me:hunter2@")
    text = f"""
[models.m]
upstream = "vllm"
base_url = "{url}"
[tools]
sources = ["{url}", "mcp+{url}"]
"""
    reason = "the host or the port is invalid; expected an address such as http://10.0.0.5:8000"
    assert mistakes(text) == [
        f"g.toml:4: [models.m] base_url: {reason}",
        f"g.toml:6: [tools] sources: http://…: {reason}",
        f"g.toml:6: [tools] sources: mcp+http://…: {reason}",
    ]


def test_a_provider_without_a_key_names_the_variable_to_set() -> None:
    (mistake,) = mistakes('[models."claude-*"]\nupstream = "anthropic"')
    assert mistake.startswith('g.toml:2: [models."claude-*"] upstream: anthropic: ')
    assert "ANTHROPIC_API_KEY" in mistake


def test_a_configuration_without_models_is_reported() -> None:
    (mistake,) = mistakes("[server]\nport = 1")
    assert mistake.startswith("g.toml: there are no models; add a table, such as [models.")


def test_a_key_file_is_relative_to_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-of-a-file\n")
    text = '[models.a]\nupstream = "anthropic"\nkey_file = "key"'
    assert mistakes(text, folder=tmp_path) == []
    models = ModelTable(read_config(text), {}, read_file=lambda name: (tmp_path / name).read_text())
    assert models.find("a")[0].endpoint.api_key == "sk-of-a-file"
    assert models.secrets() == ["sk-of-a-file"]
    (mistake,) = mistakes(text.replace('"key"', '"other"'), folder=tmp_path)
    assert mistake == "g.toml:3: [models.a] key_file: other: no such file or directory"


def test_the_longest_pattern_that_fits_counts_and_fallbacks_follow_in_order() -> None:
    text = """
[models."*"]
upstream = "demo"
[models."claude-*"]
upstream = "demo:anthropic"
fallbacks = ["b", "claude-x"]
[models.b]
upstream = "demo:gemini"
fallbacks = ["claude-y", "else"]
"""
    models = ModelTable(read_config(text), {}, demo_url=DEMO)
    assert [one.endpoint.provider.name for one in models.find("claude-x")] == [
        "anthropic",
        "gemini",
        "openai",
    ]
    assert [one.endpoint.model for one in models.find("claude-x")] == ["claude-x", "b", "else"]
    assert models.names() == ["b"]


def test_a_model_pattern_with_a_slash_sends_the_text_after_the_slash() -> None:
    models = ModelTable(read_config('[models."groq/*"]\nupstream = "groq"'), {"GROQ_API_KEY": "k"})
    assert models.find("groq/meta/llama-4")[0].endpoint.model == "meta/llama-4"


@pytest.mark.parametrize("more", ["", 'model = "x"'], ids=["as the client says", "always the same"])
@pytest.mark.parametrize("name", ["", None])
def test_a_request_without_a_model_finds_none_though_a_row_fits_every_name(
    name: str | None, more: str
) -> None:
    text = f'[models."*"]\nupstream = "groq"\n{more}'
    assert ModelTable(read_config(text), {"GROQ_API_KEY": "k"}).find(name) == []
    default = ModelTable(read_config(f'[server]\ndefault = "x"\n{text}'), {"GROQ_API_KEY": "k"})
    assert [one.endpoint.model for one in default.find(name)] == ["x"]


def test_a_pattern_prefix_alone_is_no_model() -> None:
    text = '[models."groq/*"]\nupstream = "groq"'
    assert ModelTable(read_config(text), {"GROQ_API_KEY": "k"}).find("groq/") == []
    assert mistakes(f'[server]\ndefault = "groq/"\n{text}', {"GROQ_API_KEY": "k"}) == [
        "g.toml:2: [server] default: unknown model groq/"
    ]


def test_without_a_configuration_keys_in_the_environment_become_models() -> None:
    models = ModelTable(
        config_from_environment({"ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "g"}),
        {"ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "g"},
        demo_url=DEMO,
    )
    assert models.find("claude-opus")[0].endpoint.provider.name == "anthropic"
    assert models.find("groq/llama")[0].endpoint.provider.name == "groq"
    assert models.find("anything") == [] and models.names() == ["demo"]


def test_without_any_key_the_offline_model_answers_for_every_name() -> None:
    models = ModelTable(config_from_environment({}), {}, demo_url=DEMO)
    assert models.find("gpt-9")[0].endpoint.base_url.startswith(DEMO)
    assert models.find(None) == [], "as the APIs do, it refuses a request that names no model"


def test_the_example_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "examples" / "gateway.toml").read_text()
    assert mistakes(text) == []
    plain = "\n".join(
        line.removeprefix("# ") if "=" in line or line.startswith("# [") else line
        for line in text.splitlines()
    )
    env = {"ANTHROPIC_API_KEY": "k", "AWS_BEARER_TOKEN_BEDROCK": "k"}
    (tmp_path / "keys.toml").write_text("")
    assert mistakes(plain, env, tmp_path) == [], "also what is commented out"


def test_the_examples_of_the_page_are_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text("")
    program = tmp_path / "some-mcp-server"
    program.touch(0o755)
    page = (ROOT / "docs" / "reference" / "gateway.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) >= 3
    for text in blocks:
        if text.startswith("[keys."):
            (tmp_path / "keys.toml").write_text(text.replace("…", "0" * 64))
            assert read_keys(tmp_path / "keys.toml")[0].models == ("claude-*", "local")
        else:
            models = "" if "[models" in text else '[models.demo]\nupstream = "demo"\n'
            env = {"ANTHROPIC_API_KEY": "k", "TOOLS_KEY": "k", "PATH": str(program.parent)}
            assert mistakes(models + text, env) == [], text


@pytest.mark.parametrize("length", [257, 100_000])
def test_long_model_names_use_no_memory(length: int) -> None:
    models = ModelTable(read_config('[models."*"]\nupstream = "groq"'), {"GROQ_API_KEY": "k"})
    assert models.find("x" * length) == [] and not models._found
    for n in range(3000):
        models.find(f"model-{n}")
    assert len(models._found) <= 1000


@pytest.mark.parametrize(
    ("upstream", "base_url", "url"),
    [
        ("vllm", "http://h:1", "http://h:1/v1/chat/completions"),
        ("vllm", "http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("vllm", "http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("vllm", "http://h:1/", "http://h:1/chat/completions"),
        ("vllm", "http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("groq", "http://h:1", "http://h:1/openai/v1/chat/completions"),
        ("deepseek", "http://h:1", "http://h:1/chat/completions"),
        ("openai-responses", "http://h:1", "http://h:1/v1/responses"),
        ("anthropic", "http://h:1", "http://h:1/v1/messages"),
        ("anthropic", "http://h:1/v1", "http://h:1/v1/messages"),
        ("anthropic", "http://h:1/proxy/v1/", "http://h:1/proxy/v1/messages"),
        ("gemini", "http://h:1/v1beta", "http://h:1/v1beta/models/m:generateContent"),
        ("cohere", "http://h:1/v2", "http://h:1/v2/chat"),
        ("ollama", "http://h:1/v1", "http://h:1/api/chat"),
        ("bedrock", "http://h:1", "http://h:1/model/m/converse"),
    ],
)
def test_an_address_is_understood_with_and_without_its_version(
    upstream: str, base_url: str, url: str
) -> None:
    text = f'[models.m]\nupstream = "{upstream}"\nbase_url = "{base_url}"\nkey_env = "K"\n'
    (target,) = ModelTable(read_config(text), {"K": "k"}).find("m")
    assert target.endpoint.url(stream=False) == url
