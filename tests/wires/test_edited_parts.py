"""An edit of a part or a tool definition is read back, also of tools that the provider ran."""

from __future__ import annotations

from collections.abc import Iterator

from cases import CASES, Case
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Conversation,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
    decode,
    encode,
)
from toolwire.conversation.json import Object
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import APPROVAL

WIRES = ("ai-sdk", "azure-foundry", "mcp", "openai-responses", "oxp")


def edits(part: Part, wire: str) -> Iterator[tuple[str, Part]]:
    """The name of what changes, and the edited part."""
    if isinstance(part, Text | Reasoning):
        yield "text", replace(part, text="Something else.")
    if isinstance(part, Media) and part.data is not None:
        yield "data", replace(part, data="QUJD")
    if isinstance(part, Media) and part.url is not None:
        yield "url", replace(part, url="https://example.org/other.png")
    if isinstance(part, Call):
        yield "name", replace(part, name="another_tool")
        if part.family != "custom":
            yield "input", replace(part, args=LazyJson('{"changed":true}'))
    if isinstance(part, Result) and part.family == APPROVAL:
        yield "text", replace(part, output={"approve": False, "reason": "Something else."})
    elif isinstance(part, Result):
        yield "text", replace(part, output="Something else.")
        yield "text", replace(part, output={"something": "else"})
        # The result of a client's tool has no error flag in items, except for a patch.
        if part.executor == "provider" or not wire.startswith(("openai", "azure")):
            yield "error", replace(part, error=not part.error)


EDITS = [
    (case, n)
    for case in CASES
    if case.wire in WIRES
    for n, part in enumerate(decode(case.body, case.wire, case.kind).parts())
    if any(edits(part, case.wire))
]


def _with_more(conversation: Conversation) -> Conversation:
    """The conversation with something beside the edit, so that all of it is written again."""
    if conversation.kind == "response":
        return replace(conversation, settings={**conversation.settings, "id": "other"})
    return replace(conversation, messages=(*conversation.messages, Message("user", "Go on.")))


@rows("case, n", EDITS)
def test_an_edited_part_is_read_back_with_its_edit(case: Case, n: int) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    parts = list(conversation.parts())
    for field, new in edits(parts[n], case.wire):
        edited = conversation.replace(parts[n], new)
        for changed in (edited, _with_more(edited)):
            body = encode(changed, case.wire, case.kind).body
            found = list(decode(body, case.wire, case.kind).parts())[n]
            assert getattr(found, field) == getattr(new, field)


WITH_TOOLS = [
    case
    for case in CASES
    if case.wire in WIRES
    and any(tool.kind == "function" for tool in decode(case.body, case.wire, case.kind).tools)
    and not (case.wire == "oxp" and isinstance(case.body, list))  # the tools of a log are fixed
]


@rows("case", WITH_TOOLS)
def test_an_edited_tool_definition_is_read_back_with_its_edit(case: Case) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    tools = list(conversation.tools)
    n = next(n for n, tool in enumerate(tools) if tool.kind == "function")
    tools[n] = replace(tools[n], description="Something else.", schema={"type": "object"})
    body = encode(replace(conversation, tools=tuple(tools)), case.wire, case.kind).body
    assert decode(body, case.wire, case.kind).tools == tuple(tools)


GROWING = [
    (case, n)
    for case in CASES
    if case.wire in ("ai-sdk", "azure-foundry", "openai-responses")
    for n, message in enumerate(decode(case.body, case.wire, case.kind).messages)
    if message.role in ("user", "assistant")
    and not any(isinstance(part, Opaque) and part.path == message.path for part in message.parts)
]


@rows("case, n", GROWING)
def test_a_part_added_to_a_message_leaves_all_others(case: Case, n: int) -> None:
    conversation = decode(case.body, case.wire, case.kind)
    messages = list(conversation.messages)
    messages[n] = replace(messages[n], parts=(*messages[n].parts, Text("And more.")))
    body = encode(replace(conversation, messages=tuple(messages)), case.wire, case.kind).body
    parts = list(decode(body, case.wire, case.kind).parts())
    assert Text("And more.") in parts
    assert [part for part in conversation.parts() if part not in parts] == []


ANTHROPIC: Object = {
    "model": "m",
    "max_tokens": 9,
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": 1}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "A cat."}],
        },
    ],
}


@rows("wire", ("ai-sdk", "azure-foundry", "openai-responses"))
def test_parts_of_another_wire_become_parts_of_the_message_they_are_added_to(wire: str) -> None:
    call = Call("call_1", "listen", {"to": 2})
    roles = [
        Message("user", "Go."),
        Message("assistant", call),
        Message("tool", call.result("Hm.")),
    ]
    conversation = decode(encode(Conversation(roles), wire).body, wire)
    messages = [
        replace(message, parts=(*message.parts, *other.parts))
        for message, other in zip(
            conversation.messages, decode(ANTHROPIC, "anthropic").messages, strict=True
        )
    ]
    body = encode(replace(conversation, messages=tuple(messages)), wire).body
    decoded = decode(body, wire)
    assert [type(part) for part in decoded.messages[0].parts] == [Text, Text, Media]
    assert [
        (pair.call.name, pair.call.input, pair.result.text)
        for pair in decoded.pairs()
        if pair.call is not None and pair.result is not None
    ] == [("listen", {"to": 2}, "Hm."), ("look", {"at": 1}, "A cat.")]
