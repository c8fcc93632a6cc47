"""The configuration of a gateway: what it may say, and what is said about what it may not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from gateway_ops.reference import reference

from toolwire.errors import ConfigError
from toolwire.gateway.config import ModelTable, found_in, read
from toolwire.gateway.keys import read_keys

ROOT = Path(__file__).parents[2]
DEMO = "http://127.0.0.1:9"


def wrong(text: str, env: dict[str, str] | None = None, folder: Path | None = None) -> list[str]:
    """Everything that is said about a text."""
    try:
        ModelTable(read(text, "g.toml"), env or {}, demo=DEMO, folder=folder)
    except ConfigError as error:
        return error.mistakes
    return []


def test_every_mistake_is_told_at_once_with_its_line_and_what_was_probably_meant() -> None:
    text = """
[server]
prot = 8080
strict = "yes"

[models."claude-*"]
upstrem = "anthropic"
timeout = "long"

[model.x]
upstream = "demo"
"""
    assert wrong(text) == [
        "g.toml:3: [server] prot: no such key; did you mean port?",
        "g.toml:4: [server] strict: expected true or false, got a text",
        'g.toml:7: [models."claude-*"] upstrem: no such key; did you mean upstream?',
        'g.toml:8: [models."claude-*"] timeout: expected a number, got a text',
        (
            'g.toml:6: [models."claude-*"] upstream: is missing: whose model is it? As in upstream'
            ' = "anthropic"'
        ),
        "g.toml: model: no such table; did you mean models?",
    ]


def test_what_is_no_toml_is_said_with_its_place() -> None:
    (told,) = wrong("[server\nport = 1")
    assert told.startswith("g.toml: not TOML: ") and "line 1" in told


def test_what_does_not_fit_together_is_told_with_its_table_and_key() -> None:
    text = """
[server]
default = "fats"
port = 70000
[models.fast]
upstream = "grok"
fallbacks = ["slwo", "fast"]
concurrency = 0
headers = ["Authorization"]
[models.slow]
upstream = "anthropic"
key_env = "NOWHERE"
[models.own]
upstream = "vllm"
base_url = "ftp://x"
connect = 0.0
[models.none]
upstream = "demo:nobody"
[tools]
turns = 0
"""
    assert wrong(text) == [
        "[models.fast] upstream: no such provider: grok; did you mean groq?",
        "[models.fast] fallbacks: no such model: slwo; did you mean slow?",
        "[models.fast] fallbacks: fast cannot stand in for itself",
        "[models.fast] concurrency: expected a number above zero, got 0",
        "[models.fast] headers: authorization is the gateway's own and is never passed on",
        "[models.slow] key_env: NOWHERE is not set in the environment",
        "[models.own] base_url: expected http:// or https://, got ftp",
        "[models.own] connect: expected seconds, got 0",
        *[one for one in wrong(text) if "demo of nobody" in one],
        "[server] default: no such model: fats; did you mean fast?",
        "[server] port: expected 0 to 65535",
        "[tools] turns: expected more than 0",
    ]


@pytest.mark.parametrize(
    "name", ("Content-Type", "content-encoding", "accept-encoding", "cookie", "host", "x-api-key")
)
def test_a_field_that_the_gateway_writes_itself_is_not_passed_on(name: str) -> None:
    (told,) = wrong(f'[models.m]\nupstream = "demo"\nheaders = ["{name}"]')
    assert told == f"[models.m] headers: {name.lower()} is the gateway's own and is never passed on"


@pytest.mark.parametrize(
    "name", ("Expect", "te", "trailer", "upgrade", "keep-alive", "proxy-connection", "connection")
)
def test_a_field_about_one_connection_is_not_passed_on(name: str) -> None:
    (told,) = wrong(f'[models.m]\nupstream = "demo"\nheaders = ["{name}"]')
    assert (
        told
        == f"[models.m] headers: {name.lower()} is between the client and the gateway and is never"
        " passed on"
    )


def test_an_address_without_a_scheme_is_not_repeated() -> None:
    (told,) = wrong('[models.m]\nupstream = "vllm"\nbase_url = "me:hunter2@host/v1"')
    assert told == "[models.m] base_url: expected http:// or https://"


def test_a_provider_without_its_key_says_which_variable_to_set() -> None:
    (told,) = wrong('[models."claude-*"]\nupstream = "anthropic"')
    assert told == '[models."claude-*"] no API key; set the environment variable ANTHROPIC_API_KEY'


def test_a_key_comes_from_a_file_beside_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-of-a-file\n")
    text = '[models.a]\nupstream = "anthropic"\nkey_file = "key"'
    assert wrong(text, folder=tmp_path) == []
    models = ModelTable(read(text), {}, folder=tmp_path)
    assert models.find("a")[0].address.api_key == "sk-of-a-file"
    assert models.secrets() == ["sk-of-a-file"]
    (told,) = wrong(text.replace('"key"', '"other"'), folder=tmp_path)
    assert told == "[models.a] key_file: other: no such file or directory"


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
    models = ModelTable(read(text), {}, demo=DEMO)
    assert [one.address.provider.name for one in models.find("claude-x")] == [
        "anthropic",
        "gemini",
        "openai",
    ]
    assert [one.address.model for one in models.find("claude-x")] == ["claude-x", "b", "else"]
    assert models.names() == ["b"]


def test_of_a_folder_of_models_the_provider_gets_what_stands_behind_the_slash() -> None:
    models = ModelTable(read('[models."groq/*"]\nupstream = "groq"'), {"GROQ_API_KEY": "k"})
    assert models.find("groq/meta/llama-4")[0].address.model == "meta/llama-4"


@pytest.mark.parametrize("more", ["", 'model = "x"'], ids=["as the client says", "always the same"])
@pytest.mark.parametrize("name", ["", None])
def test_a_request_without_a_model_finds_none_though_a_row_fits_every_name(
    name: str | None, more: str
) -> None:
    text = f'[models."*"]\nupstream = "groq"\n{more}'
    assert ModelTable(read(text), {"GROQ_API_KEY": "k"}).find(name) == []
    default = ModelTable(read(f'[server]\ndefault = "x"\n{text}'), {"GROQ_API_KEY": "k"})
    assert [one.address.model for one in default.find(name)] == ["x"]


def test_the_name_of_a_folder_alone_is_no_model() -> None:
    text = '[models."groq/*"]\nupstream = "groq"'
    assert ModelTable(read(text), {"GROQ_API_KEY": "k"}).find("groq/") == []
    assert wrong(f'[server]\ndefault = "groq/"\n{text}', {"GROQ_API_KEY": "k"}) == [
        "[server] default: no such model: groq/"
    ]


def test_without_a_configuration_keys_in_the_environment_become_models() -> None:
    models = ModelTable(
        found_in({"ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "g"}),
        {"ANTHROPIC_API_KEY": "k", "GROQ_API_KEY": "g"},
        demo=DEMO,
    )
    assert models.find("claude-opus")[0].address.provider.name == "anthropic"
    assert models.find("groq/llama")[0].address.provider.name == "groq"
    assert models.find("anything") == [] and models.names() == ["demo"]


def test_without_any_key_the_offline_model_answers_whatever_is_asked_for() -> None:
    models = ModelTable(found_in({}), {}, demo=DEMO)
    assert models.find("gpt-9")[0].address.base_url.startswith(DEMO)
    assert models.find(None)[0].address.model == "demo"


def test_the_example_is_right() -> None:
    text = (ROOT / "examples" / "gateway.toml").read_text()
    assert wrong(text) == []
    plain = "\n".join(
        line.removeprefix("# ") if "=" in line or line.startswith("# [") else line
        for line in text.splitlines()
    )
    env = {"ANTHROPIC_API_KEY": "k", "AWS_BEARER_TOKEN_BEDROCK": "k"}
    assert wrong(plain, env) == [], "also what is commented out"


def test_the_page_tells_every_key_as_the_code_does() -> None:
    """Write it anew with TOOLWIRE_API=write."""
    file = ROOT / "docs" / "gateway.md"
    before, mark, rest = file.read_text().partition("<!-- reference -->\n")
    told, end, after = rest.partition("<!-- end of the reference -->")
    assert mark and end
    if os.environ.get("TOOLWIRE_API") == "write":
        file.write_text(f"{before}{mark}{reference()}{end}{after}")
        told = reference()
    assert told == reference()


def test_the_examples_of_the_page_are_right(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "gateway.md").read_text()
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    for text in blocks:
        if text.startswith("[keys."):
            (tmp_path / "keys.toml").write_text(text.replace("…", "0" * 64))
            assert read_keys(tmp_path / "keys.toml")[0].models == ("claude-*", "local")
        else:
            assert wrong(text, {"ANTHROPIC_API_KEY": "k"}) == []
