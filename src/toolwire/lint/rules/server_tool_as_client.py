"""A call that the provider ran is marked as a call for the client.

A bridge that knows only one type of call changed the type; the prefix of the id (`srvtoolu_`) still
shows that the provider ran it. The API now requires a result from the client, which never ran the
call and cannot provide one.

If the provider's result is still next to the call, the fix restores the type of the call. Nothing
is lost. Otherwise the fix rewrites the call as assistant text marked `[toolwire]`. It adds no
result, because only the provider can produce it.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, describe
from toolwire.lint.examples.blocks import assistant_blocks, tool_result, tool_use
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import parts_as_text
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule

_SERVER_TYPES = {"tool_use": "server_tool_use"}
"""The type of a block as a client call → its type as a call that the provider runs."""


def _original_type(facts: Facts, call: Call) -> str | None:
    """The original type of the call; None if its provider result is not there."""
    if not facts.own_wire or not isinstance(call.raw, dict) or call not in facts.result_of:
        return None
    kind = call.raw.get("type")
    return _SERVER_TYPES.get(kind) if isinstance(kind, str) else None


def _check(facts: Facts) -> Iterable[Problem]:
    if (
        not facts.profile.rejects_missing_results
        or not facts.calls
        or facts.conversation.kind != "request"
    ):
        return
    for call in facts.server_calls_as_client:
        message = (
            f"the call {call.id} ({call.name}) was run by the provider, but has the type of a call"
            " that needs a result from the client"
        )
        yield call.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    return _restore_types(facts) or _calls_as_text(facts)


def _restore_types(facts: Facts) -> FixedBody | None:
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for call in facts.server_calls_as_client:
        kind = _original_type(facts, call)
        if kind is not None:
            body = put(body, (*call.path, "type"), kind)
            changes.append((call.path, f"changed the type of the call {call.id} to {kind}"))
    return FixedBody(body, tuple(changes)) if changes else None


def _calls_as_text(facts: Facts) -> FixedConversation | None:
    calls = facts.server_calls_as_client
    if not calls:
        return None
    texts: PartMap[Part, str] = PartMap((call, describe(call)) for call in calls)
    changes = tuple(
        (call.path, f"rewrote the call {call.id} ({call.name}) as text") for call in calls
    )
    return FixedConversation(parts_as_text(facts.conversation, texts), changes)


_SEARCH_RESULT = tool_result("srvtoolu_1", "web_search_tool_result", [])
RULE = Rule(
    "TW037",
    "server-tool-as-client",
    title="a call that the provider ran is marked as a call for the client",
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
        blocks_example(USER, assistant_blocks(tool_use("srvtoolu_1"), _SEARCH_RESULT), USER),
        blocks_example(USER, assistant_blocks(tool_use("srvtoolu_1")), USER),
    ),
    good=(
        chat_example(
            USER, assistant(tool_call("srvtoolu_1", "web_search")), tool_message("srvtoolu_1")
        ),
        blocks_example(
            USER,
            assistant_blocks(
                tool_use("srvtoolu_1", "server_tool_use", "web_search"), _SEARCH_RESULT
            ),
            USER,
        ),
        chat_example(USER, assistant(tool_call("srvtoolu_1", "web_search")), USER, target="xai"),
    ),
)
