"""The page about profiles: what each provider refuses, as sentences."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise

from page_markdown import GENERATED, cell, code, table

from toolwire.conversation.id_rules import IdRule
from toolwire.profiles.table import PROFILES, Profile

PROFILES_HEAD = """\
# Profiles

For people who want to know what a provider refuses before they send it.

A profile is a wire as one provider uses it. It holds what the provider refuses in a history, as dated facts with sources in the
modules of `src/toolwire/profiles/`. `check` and `repair` use all facts; `translate` also uses the rules of ids and names to write them.
A profile states only refusals that were observed: where nothing is listed, no check is known. The name of a profile is accepted
wherever the name of a wire is."""
VALUES = {
    "result_placement": {
        "after": "results must come after their calls",
        "next": "results must come directly after the message of their calls",
        "alone": "results must come directly after the message of their calls, with nothing else in their message",
    },
    "arguments_format": {
        "text": "arguments must be text",
        "json": "arguments must be valid JSON",
        "object": "arguments must be a JSON object",
    },
    "assistant_content": {
        "text": "the content of a message with calls must be a string, not a list",
        "some": "the content of a message with calls must not be null",
    },
    "empty_content": {
        "null": "the content of a message without calls must not be null",
        "reply": "an assistant message must have content or calls",
        "message": "a message must not be empty",
        "part": "a message must have parts, and a part must have a field",
        "text": "a message must have parts, and a text must not be empty",
    },
    "reasoning_to_return": {
        "reasoning_content": "the reasoning text must be sent back with a call",
        "thinking": "the signed thinking block must be sent back with a call",
        "signature": "the signature of a call must be sent back",
        "reasoning": "the reasoning item must be sent back before its call",
    },
}
"""Sentences for the values of a field of a profile."""
IF_FALSE = {
    "has_id_field": "calls and results have no id field",
    "accepts_function_call": "the deprecated `function_call` and the role `function` are rejected",
}
"""Sentences for fields that are true of most providers."""


def profiles_page() -> str:
    """Every profile: its ids and names, what it checks, and the sources."""
    rows = [PROFILES[name] for name in sorted(PROFILES)]
    about = ("name", "wire", "last_seen", "confidence", "source")
    columns = [name for name in Profile.__struct_fields__ if name not in about]
    rules = [
        name for name in columns if any(isinstance(getattr(row, name), IdRule) for row in rows)
    ]
    checks = [name for name in columns if name not in rules]
    meanings = field_words()
    parts = [
        GENERATED,
        PROFILES_HEAD,
        "## What is checked",
        *(profile_section(row, checks, meanings) for row in rows),
        "## Ids and names",
        IDS_INTRO,
        profile_grid(rows, ["wire", *rules]),
        "## Sources",
        profile_grid(rows, ["last_seen", "confidence", "source"]),
        "## The fields of a profile",
        "\n".join(f"- `{name}`: {meanings[name]}" for name in columns if name in meanings),
    ]
    return "\n\n".join(parts) + "\n"


def profile_section(row: Profile, names: list[str], meanings: dict[str, str]) -> str:
    """The section of a profile: what the provider checks, one sentence for each fact."""
    sentences = [check_sentence(name, getattr(row, name), meanings[name]) for name in names]
    known = [f"- {sentence}" for sentence in sentences if sentence]
    return "\n".join((f"### `{row.name}`", "", *(known or ["No check is known."])))


def check_sentence(name: str, value: object, meaning: str) -> str:
    """The sentence that a field states about a provider; empty if it states nothing."""
    if name in IF_FALSE:
        return "" if value else IF_FALSE[name]
    if value is True:
        return meaning.removeprefix("True if ").rstrip(".")
    if not value:
        return ""
    if name in VALUES:
        return VALUES[name][str(value)]
    if name in MODELS:
        return MODELS[name].format("all models" if value == ".*" else f"models named `{value}`")
    if name == "own_id_pattern":
        return f"ids that its models generate, `{value}`, must be returned unchanged"
    if name == "refused_message_fields" and isinstance(value, tuple):
        return f"a message must not have the field {', '.join(map(code, value))}"
    if name == "accepted_message_fields" and isinstance(value, tuple):
        return f"a message may only have the fields {', '.join(map(code, value))}"
    if name == "fields_of_other_servers" and isinstance(value, tuple):
        return f"the fields {', '.join(map(code, value))} of other servers are not reported"
    if name == "accepted_roles" and isinstance(value, tuple):
        if not value:
            return "a message has no role"
        return f"the role of a message must be one of {', '.join(map(code, value))}"
    if name == "sometimes_accepted" and isinstance(value, tuple):
        return (
            f"not every request that breaks these rules is refused: {', '.join(map(code, value))}"
        )
    assert isinstance(value, dict)
    prefixes = ", ".join(f"{code(prefix)} for {code(kind)}" for kind, prefix in value.items())
    return f"item ids must start with {prefixes}"


MODELS = {
    "reasoning_models": "{} need their reasoning back",
    "models_without_reasoning": "{} reject reasoning items",
    "no_prefill_models": "a request to {} must not end with an assistant message",
    "signing_models": "reasoning of {} is signed for the one model that wrote it",
    "skips_others": "{} skip reasoning of another model",
    "every_turn_models": "{} need the reasoning of every turn back",
    "cache_breakpoint_models": "{} accept cache breakpoints",
    "web_search_models": "{} search the web on request",
    "text_result_models": "{} reject media inside a result",
}
"""Sentences for fields whose pattern matches names of models."""


def profile_grid(rows: list[Profile], names: list[str]) -> str:
    """Some fields of all profiles."""
    cells = (
        [code(row.name), *(field_text(name, getattr(row, name)) for name in names)] for row in rows
    )
    return table(("profile", *(COLUMNS.get(name, name) for name in names)), cells).strip()


COLUMNS = {
    "wire": "uses the wire",
    "id_rule": "a call id that toolwire writes has",
    "name_rule": "a tool name that toolwire writes has",
    "accepted_ids": "and the provider also accepts ids with",
    "accepted_names": "and the provider also accepts names with",
    "last_seen": "was observed last on",
    "confidence": "with this confidence",
    "source": "by these observations",
}
"""The heading of a column, which reads as a sentence after the name of a profile."""
IDS_INTRO = "An id that does not fit is replaced, the same in call and result, and restored on the way back."


def field_text(name: str, value: object) -> str:
    """The value of a field, in a cell."""
    if isinstance(value, IdRule):
        return id_rule(value)
    return code(str(value or "")) if name == "wire" else cell(str(value or ""))


def id_rule(rule: IdRule) -> str:
    """A rule for ids or names, as a pattern and a length."""
    words = [code(f"[{rule.chars}]")] if rule.chars else ["any characters"]
    words += [f"first {code(rule.first)}"] if rule.first else []
    words += [f"{'exactly' if rule.exact else 'at most'} {rule.longest}"] if rule.longest else []
    return ", ".join(words)


def field_words() -> dict[str, str]:
    """The meaning of each field of a profile, from the docstring below it."""
    (body,) = (
        node.body
        for node in ast.parse(inspect.getsource(Profile)).body
        if isinstance(node, ast.ClassDef)
    )
    found: dict[str, str] = {}
    for field, below in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
        ):
            found[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found
