"""The mock's schemas of requests are those of the official SDKs: the files are up to date, and the
mock accepts and refuses the same bodies as the types themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

import pytest
from cases import load
from mock.official_types import accepts

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.profiles.request_schema import request_schema

ROOT = Path(__file__).parent.parent.parent
APIS = {
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic-beta",
    "gemini": "gemini",
    "gemini-interactions": "gemini-interactions",
    "bedrock": "bedrock",
    "mistral": "mistral",
    "cohere": "cohere",
}
REQUIRED: dict[str, Object] = {
    "anthropic": {"model": "m", "max_tokens": 9},
    "gemini": {},
    "bedrock": {},
}
"""Required fields that cases leave out; on other wires they leave out the model."""
IN_THE_PATH = {"bedrock": ("modelId",), "gemini": ("model",)}
LOOSE_UNIONS = {"mistral": "thinking"}
"""Fields inside which an SDK distinguishes types without their tags."""
MOST = 60
"""The number of changes to one body; of more, every n-th is made."""


def bodies(wire: str) -> Iterator[Object]:
    """The requests of the cases that the types accept."""
    for case in load(wire):
        if case.kind == "request" and isinstance(case.body, dict):
            body = {**REQUIRED.get(wire, {"model": "m"}), **case.body}
            body = {key: body[key] for key in body if key not in IN_THE_PATH.get(wire, ())}
            body.pop("stream", None)
            if accepts(wire, body):
                yield body


def changes(value: JSON, path: JsonPath = ()) -> Iterator[tuple[str, JsonPath, JSON]]:
    """Changes that an API may refuse: a field more, a field less, a value of another type."""
    if isinstance(value, dict):
        yield "one more", path, {**value, "x_unknown": 1}
        for key in value:
            yield "one less", path, {name: value[name] for name in value if name != key}
            yield from changes(value[key], (*path, key))
    elif isinstance(value, list):
        for n, item in enumerate(value):
            yield from changes(item, (*path, n))
        yield "other type", path, "text"
    elif path:
        yield "other type", path, [[value]]


@pytest.mark.parametrize("wire", APIS)
def test_the_mock_and_the_official_types_accept_and_refuse_the_same_requests(wire: str) -> None:
    schema = request_schema(APIS[wire])
    compared = refused = 0
    for body in bodies(wire):
        assert not list(schema.violations(body)), body
        made = list(changes(body))
        for what, path, value in made[:: len(made) // MOST + 1]:
            if LOOSE_UNIONS.get(wire) in path:
                continue
            changed = put(body, path, value) if path else value
            assert isinstance(changed, dict)
            expected = accepts(wire, changed)
            assert (not list(schema.violations(changed))) is expected, (what, path, get(body, path))
            compared, refused = compared + 1, refused + (not expected)
    assert compared > 200
    assert compared // 5 < refused < compared


def test_the_files_say_what_the_installed_sdks_say() -> None:
    script = run_path(str(ROOT / "scripts" / "request_schemas.py"))
    stale = [api for api in script["APIS"] if script["is_stale"](api)]
    assert stale == [], "run scripts/request_schemas.py"
