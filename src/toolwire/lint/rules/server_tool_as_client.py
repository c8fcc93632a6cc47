"""A call that the provider ran itself has the form of a client's call.

A bridge that knows one type of call made it out of the other; the id still tells (`srvtoolu_`). The
API now demands a result of the client, who never ran it, and nobody will ever give one.

If the provider's result stands beside it, the fix restores the type of the call: nothing is lost.
Else the fix, which is not safe, tells the call as marked words of the assistant. No result is made
up: only the provider could give it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call, Message, Text, describe
from toolwire.lint.examples.blocks import answer, model, use
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import MARK, with_messages

_TYPES = {"tool_use": "server_tool_use"}
"""The type that a block has as a client's, and the one that it should have."""


def _type(facts: Facts, one: Call) -> str | None:
    """The type that a call had before, if its result of the provider is still there."""
    kind = one.raw.get("type") if facts.own_wire and isinstance(one.raw, dict) else None
    return _TYPES.get(kind) if id(one) in facts.result_of and isinstance(kind, str) else None


def _check(facts: Facts) -> Iterable[Problem]:
    for one in (
        facts.server_calls_as_client
        if facts.profile.rejects_missing_results
        and facts.calls
        and facts.conversation.kind == "request"
        else ()
    ):
        yield (
            one.path,
            (
                f"the call {one.id} of {one.name} was run by the provider, but has the form of a"
                " call that a client must answer"
            ),
            "safe" if _type(facts, one) else "unsafe",
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for one in facts.server_calls_as_client:
        kind = _type(facts, one)
        if kind is not None:
            body = put(body, (*one.path, "type"), kind)
            changes.append((one.path, f"the call {one.id} is of the type {kind} again"))
    if changes or not unsafe:
        return FixedBody(body, tuple(changes)) if changes else None
    told_of = {id(one): Text(f"{MARK} {describe(one)}") for one in facts.server_calls_as_client}
    changes = [
        (one.path, f"the call {one.id} of {one.name} is told in words")
        for one in facts.server_calls_as_client
    ]
    return Fixed(with_messages(facts.conversation, _retold(facts, told_of)), tuple(changes))


def _retold(facts: Facts, new: dict[int, Text]) -> tuple[Message, ...]:
    return tuple(
        (
            replace(message, parts=tuple(new.get(id(part), part) for part in message.parts))
            if any(id(part) in new for part in message.parts)
            else message
        )
        for message in facts.messages
    )


_FOUND = answer("srvtoolu_1", "web_search_tool_result", [])
RULE = Rule(
    "TW037",
    "server-tool-as-client",
    title="a call that the provider ran itself has the form of a client's call",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=28,
    ruled_out_by=(Observation.CLIENT_IDS,),
    bad=(
        chat_example(USER, assistant(tool_call("srvtoolu_1", "web_search"))),
        chat_example(
            USER,
            assistant(tool_call("srvtoolu_1", "web_search"), tool_call("c2")),
            tool_message("c2"),
            USER,
        ),
        blocks_example(USER, model(use("srvtoolu_1"), _FOUND), USER),
        blocks_example(USER, model(use("srvtoolu_1")), USER),
    ),
    good=(
        chat_example(
            USER, assistant(tool_call("srvtoolu_1", "web_search")), tool_message("srvtoolu_1")
        ),
        blocks_example(USER, model(use("srvtoolu_1", "server_tool_use"), _FOUND), USER),
        chat_example(USER, assistant(tool_call("srvtoolu_1", "web_search")), USER, target="xai"),
    ),
)
