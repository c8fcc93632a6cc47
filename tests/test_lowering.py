"""Lowering: what a target cannot hold becomes what it can, and each loss is reported once with the
pointer of the thing lost."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from cases import CASES, WIRES
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Choice,
    Conversation,
    Format,
    Loss,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
    Tool,
    Usage,
)
from toolwire.codec import decode_in_full, resolve
from toolwire.codec.fit import wire_for_model
from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import BodySource, Kind
from toolwire.conversation.observations import observe
from toolwire.conversation.parts import Source
from toolwire.errors import pointer
from toolwire.wires.engine.capabilities import DATA_ONLY, EVERYTHING, Capabilities, MediaSupport
from toolwire.wires.engine.lowering import lower_messages, lower_to_capabilities
from toolwire.wires.engine.message_lowering import MessageLowering
from toolwire.wires.engine.part_lowering import lower_opening

IMAGE = Media("image", data="aGk=", mime="image/png")
CALL = Call("c1", "f", {"x": 1})


def with_path(part: Part, *path: str | int) -> Part:
    """A part that was read at a path."""
    return replace(part, source=Source(path=path))


def conversation(*messages: Message, kind: str = "request", **more: object) -> Conversation:
    return replace(Conversation(messages), wire="source", kind=kind, **more)


def message(role: str, *parts: Part) -> Message:
    return Message(role, parts)  # type: ignore[arg-type]


class LoweredConversation(NamedTuple):
    conversation: Conversation
    losses: list[Loss]


def lower(
    conversation: Conversation, capabilities: Capabilities, kind: Kind = "request"
) -> LoweredConversation:
    losses: list[Loss] = []
    lowered = lower_to_capabilities(
        conversation, capabilities, wire="target", kind=kind, losses=losses
    )
    return LoweredConversation(lowered, losses)


def lower_for(
    conversation: Conversation, kind: Kind = "request", **capabilities: object
) -> LoweredConversation:
    return lower(conversation, Capabilities(**capabilities), kind)  # type: ignore[arg-type]


def pointers(lowered: LoweredConversation) -> list[str]:
    return [pointer(loss.path) for loss in lowered.losses]


def parts(lowered: LoweredConversation) -> list[tuple[str, list[str]]]:
    """The parts of every message, in a short form."""
    return [
        (message.role, [short(part) for part in message.parts])
        for message in lowered.conversation.messages
    ]


def short(part: Part) -> str:
    match part:
        case Text(refusal=True):
            return f"refusal {part.text}"
        case Text():
            return part.text
        case Call():
            return f"call {part.id}"
        case Result():
            output = part.output
            inner = [short(p) for p in output] if isinstance(output, tuple) else output
            return f"result {inner}"
        case Media():
            return f"{part.kind} {part.name or ''}".strip()
        case Reasoning():
            return f"reasoning {part.text}"
    return type(part).__name__


PLACE: JsonPath = ("messages", 0, "content", 0)


def test_a_target_that_holds_everything_gets_the_very_same_conversation() -> None:
    source = conversation(message("assistant", with_path(Opaque("x", {"a": 1}), *PLACE)))
    assert lower(source, EVERYTHING) == LoweredConversation(source, [])


def test_a_refusal_becomes_plain_text() -> None:
    lowered = lower_for(
        conversation(message("assistant", with_path(Text("no", refusal=True), *PLACE))),
        refusals=False,
    )
    assert parts(lowered) == [("assistant", ["no"])]
    assert pointers(lowered) == ["/messages/0/content/0"]


def test_an_opaque_part_is_removed_and_reported() -> None:
    lowered = lower_for(
        conversation(message("user", Text("hi"), with_path(Opaque("x", {"a": 1}), *PLACE))),
        refusals=False,
    )
    assert parts(lowered) == [("user", ["hi"])]
    assert pointers(lowered) == ["/messages/0/content/0"]


@pytest.mark.parametrize(
    ("kind", "holds", "kept"),
    [
        ("request", {"reasoning_in_history": False}, False),
        ("request", {"reasoning_in_answers": False}, True),
        ("response", {"reasoning_in_history": False}, True),
        ("response", {"reasoning_in_answers": False}, False),
    ],
)
def test_reasoning_goes_where_the_target_holds_it(
    kind: Kind, holds: dict[str, bool], kept: bool
) -> None:
    source = conversation(
        message("assistant", with_path(Reasoning("hm"), *PLACE), Text("so")), kind=kind
    )
    lowered = lower_for(source, kind, **holds)
    assert parts(lowered) == [("assistant", ["reasoning hm", "so"] if kept else ["so"])]
    assert pointers(lowered) == ([] if kept else ["/messages/0/content/0"])


def test_reasoning_that_only_its_provider_can_read_is_removed() -> None:
    source = conversation(
        message("assistant", with_path(Reasoning("", hidden="secret"), *PLACE), Text("so"))
    )
    lowered = lower_for(source, refusals=False)
    assert parts(lowered) == [("assistant", ["so"])]
    assert pointers(lowered) == ["/messages/0/content/0"]
    assert lower_for(source, opaque_reasoning=True).losses == []


def test_an_error_flag_that_cannot_be_sent_is_reported() -> None:
    result = with_path(CALL.result("boom", error=True), *PLACE)
    lowered = lower_for(conversation(message("tool", result)), error_flag=False)
    assert pointers(lowered) == ["/messages/0/content/0"]
    assert lowered.conversation.results()[0].error


def test_text_after_a_call_moves_before_it_and_behind_earlier_text() -> None:
    late = with_path(Text("late"), *PLACE)
    lowered = lower_for(
        conversation(message("assistant", Text("first"), CALL, late)), text_after_calls=False
    )
    assert parts(lowered) == [("assistant", ["first", "late", "call c1"])]
    assert pointers(lowered) == ["/messages/0/content/0"]


def test_a_late_system_message_becomes_a_users_and_is_marked_and_the_first_one_stays() -> None:
    late = replace(message("system", Text("b")), source=Source(path=("messages", 2)))
    source = conversation(message("system", Text("a")), message("user", Text("hi")), late)
    lowered = lower_for(source, system_anywhere=False)
    assert parts(lowered) == [
        ("system", ["a"]),
        ("user", ["hi"]),
        ("user", ["<system>\nb\n</system>"]),
    ]
    assert pointers(lowered) == ["/messages/2"]


def test_a_response_holds_one_candidate_and_what_the_assistant_says() -> None:
    candidates = [
        replace(message(role, Text(text)), source=Source(path=("choices", n)))
        for n, (role, text) in enumerate([("assistant", "a"), ("assistant", "b"), ("tool", "c")])
    ]
    source = conversation(*candidates, kind="response")
    lowered = lower_for(source, "response", candidates=False)
    assert parts(lowered) == [("assistant", ["a"])]
    assert sorted(pointers(lowered)) == ["/choices/1", "/choices/2"]
    unlimited = lower_for(source, "response", refusals=False)
    assert parts(unlimited) == [("assistant", ["a"]), ("assistant", ["b"])]


def own(kind: str, *messages: Message, tools: tuple[Tool, ...] = ()) -> Conversation:
    """A conversation as it was read from a body of the target."""
    read = conversation(*messages, kind=kind, tools=tools)
    body = BodySource(messages=read.messages, tools=read.tools, settings=read.settings)
    return replace(read, wire="target", source=body)


def test_a_response_of_the_target_itself_keeps_its_messages_and_tools() -> None:
    source = own("response", message("assistant", Text("a")), message("tool", Text("b")))
    assert lower_for(source, "response", refusals=False) == LoweredConversation(source, [])


def test_what_an_edit_adds_to_a_response_of_the_target_is_reported() -> None:
    answer = message("assistant", Text("a"))
    added = replace(message("assistant", Text("b")), source=Source(path=("added",)))
    defined = replace(tool(None), source=Source(path=("tools", 0)))
    source = replace(own("response", answer), messages=(answer, added), tools=(defined,))
    lowered = lower_for(source, "response", candidates=False)
    assert (lowered.conversation.messages, lowered.conversation.tools) == ((answer,), ())
    assert sorted(pointers(lowered)) == ["/added", "/tools/0"]


def test_an_edit_cannot_add_a_tool_of_another_provider_or_a_strict_flag() -> None:
    hosted = Tool("", kind="web_search", source=Source(path=("tools", 0)))
    other = Tool("", kind="bash", source=Source(path=("tools", 1)))
    source = replace(own("request", tools=(hosted,)), tools=(hosted, other, tool(True)))
    lowered = lower_for(source, strict_tools=False)
    assert [(tool.kind, tool.strict) for tool in lowered.conversation.tools] == [
        ("web_search", None),
        ("function", None),
    ]
    assert pointers(lowered)[0] == "/tools/1" and len(lowered.losses) == 2


def test_a_message_that_was_read_from_the_target_is_not_touched() -> None:
    refusal = Text("no", refusal=True, source=Source(raw={"refusal": "no"}, path=PLACE))
    native = replace(message("assistant", refusal), wire="target")
    lowered = lower_for(
        conversation(native, message("assistant", with_path(Text("no", refusal=True), *PLACE))),
        refusals=False,
    )
    assert parts(lowered) == [("assistant", ["refusal no"]), ("assistant", ["no"])]
    assert len(lowered.losses) == 1


# --- media ----------------------------------------------------------------------------------------


def test_media_that_a_place_does_not_hold_are_named_in_text() -> None:
    media = {"user": MediaSupport(image=DATA_ONLY)}
    image, by_url = IMAGE, with_path(Media("image", url="https://x/y.png"), *PLACE)
    lowered = lower_for(conversation(message("user", image, by_url)), media=media)
    assert parts(lowered)[0][1][0] == "image"
    assert "https://x/y.png" in parts(lowered)[0][1][1]
    assert pointers(lowered) == ["/messages/0/content/0"]
    assert "by URL" in lowered.losses[0].reason


def test_a_text_document_becomes_text() -> None:
    document = with_path(Media("file", text="lines", mime="text/plain"), *PLACE)
    lowered = lower_for(conversation(message("user", document)), media={})
    assert "lines" in parts(lowered)[0][1][0]
    assert pointers(lowered) == ["/messages/0/content/0"]


def test_a_file_name_is_kept_for_the_kinds_that_have_one() -> None:
    image, file = (
        with_path(Media(kind, data="aGk=", name="n"), *PLACE) for kind in ("image", "file")
    )
    lowered = lower_for(conversation(message("user", image, file)), media_names=frozenset({"file"}))
    assert parts(lowered) == [("user", ["image", "file n"])]
    assert pointers(lowered) == ["/messages/0/content/0"]


def test_media_of_results_follow_in_a_user_message_before_its_own_text() -> None:
    result = CALL.result((Text("see"), with_path(IMAGE, *PLACE)))
    source = conversation(
        message("assistant", CALL), message("tool", result), message("user", Text("and?"))
    )
    lowered = lower_for(source, result_media="after")
    assert parts(lowered) == [
        ("assistant", ["call c1"]),
        ("tool", ["result ['see', '[image image/png]']"]),
        ("user", ["From tool call c1 (f):", "image", "and?"]),
    ]
    assert pointers(lowered) == ["/messages/0/content/0"]


def test_media_of_results_follow_before_the_assistant_goes_on() -> None:
    source = conversation(
        message("assistant", CALL),
        message("tool", CALL.result((IMAGE,))),
        message("assistant", Text("ok")),
    )
    assert [role for role, _ in parts(lower_for(source, result_media="after"))] == [
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_media_of_the_last_results_follow_at_the_end() -> None:
    source = conversation(message("assistant", CALL), message("tool", CALL.result((IMAGE,))))
    assert parts(lower_for(source, result_media="after"))[-1] == (
        "user",
        ["From tool call c1 (f):", "image"],
    )


def test_media_of_results_wait_for_the_results_of_all_calls_of_their_turn() -> None:
    other = Call("c2", "f", {})
    result = message("tool", CALL.result((with_path(IMAGE, *PLACE),)))
    together = [message("assistant", CALL, other)]
    split = [message("assistant", CALL), message("assistant", other)]
    for callers in (together, split, split[::-1]):
        pending = lower_for(conversation(*callers, result), result_media="after")
        assert parts(pending)[-1] == ("tool", ["result ['[image image/png]']"])
        assert pointers(pending) == ["/messages/0/content/0"] * 2
        complete = conversation(*callers, result, message("tool", other.result("r")))
        assert parts(lower_for(complete, result_media="after"))[-1][0] == "user"


def test_media_of_results_do_not_wait_for_a_call_of_an_earlier_turn() -> None:
    source = conversation(
        message("assistant", Call("c0", "f", {})),
        message("user", Text("go on")),
        message("assistant", CALL),
        message("tool", CALL.result((IMAGE,))),
    )
    assert parts(lower_for(source, result_media="after"))[-1][0] == "user"


def test_a_message_without_parts_is_sent_only_to_its_own_wire() -> None:
    empty = message("user")
    source = conversation(empty, message("user", Text("hi")))
    assert parts(lower_for(source, refusals=False)) == [("user", ["hi"])]
    native = replace(empty, wire="target")
    lowered = lower_for(conversation(native, message("user", Text("hi"))), refusals=False)
    assert parts(lowered) == [("user", []), ("user", ["hi"])]


# --- tools and settings ---------------------------------------------------------------------------


def tool(strict: bool | None) -> Tool:
    return replace(Tool("f"), strict=strict, source=Source(path=("tools", 0)))


@pytest.mark.parametrize(
    ("strict", "reported"), [(True, ["/tools/0"]), (False, ["/tools/0"]), (None, [])]
)
def test_a_tool_with_a_strict_flag_loses_it_where_there_is_none(
    strict: bool | None, reported: list[str]
) -> None:
    lowered = lower_for(conversation(tools=(tool(strict),)), strict_tools=False)
    assert [tool.strict for tool in lowered.conversation.tools] == [None]
    assert pointers(lowered) == reported


@pytest.mark.parametrize("kind", ["request", "response"])
def test_tool_definitions_are_reported_where_there_is_no_place_for_them(kind: Kind) -> None:
    source = conversation(kind=kind, tools=(tool(None),))
    lowered = lower_for(source, kind, tool_definitions=False)
    assert (lowered.conversation.tools, pointers(lowered)) == ((), ["/tools/0"])


@pytest.mark.parametrize(
    ("names", "policy", "kept", "count"),
    [
        (("a", "b"), "any", ("a", "b"), 0),
        (("a", "b"), "one", (), 1),
        (("a",), "one", ("a",), 0),
        (("a", "b"), "required", ("a", "b"), 0),
        (("a",), "none", (), 1),
    ],
)
def test_a_tool_choice_names_as_many_tools_as_the_target_takes(
    names: tuple[str, ...], policy: str, kept: tuple[str, ...], count: int
) -> None:
    tools = (Tool("a"), Tool("b"))
    source = conversation(settings={"choice": Choice("required", names)}, tools=tools)
    lowered = lower_for(source, choice_names=policy, refusals=False)
    choice = lowered.conversation.settings["choice"]
    assert isinstance(choice, Choice) and choice.names == kept
    assert pointers(lowered) == ["/choice"] * count


def test_a_tool_choice_keeps_only_the_names_of_defined_tools() -> None:
    source = conversation(settings={"choice": Choice("required", ("f", "g"))}, tools=(tool(None),))
    lowered = lower_for(source, refusals=False)
    assert lowered.conversation.settings["choice"] == Choice("required", ("f",))
    assert pointers(lowered) == ["/choice"]


@pytest.mark.parametrize("policy", ["required", "one", "none"])
def test_only_a_required_tool_can_be_named_where_a_choice_holds_no_list(policy: str) -> None:
    source = conversation(tools=(Tool("a"),), settings={"choice": Choice("auto", ("a",))})
    lowered = lower_for(source, choice_names=policy)
    assert lowered.conversation.settings["choice"] == Choice("auto")
    assert pointers(lowered) == ["/choice"]


@pytest.mark.parametrize(
    ("texts", "reported"), [("any", []), ("one", ["/2"]), ("first", ["/1", "/2"])]
)
def test_reasoning_that_is_joined_or_moved_is_reported(texts: str, reported: list[str]) -> None:
    parts = (Text("a"), with_path(Reasoning("b"), 1), with_path(Reasoning("c"), 2))
    source = conversation(message("assistant", *parts))
    lowered = lower_for(source, reasoning_texts=texts, refusals=False)
    assert lowered.conversation.messages == source.messages
    assert pointers(lowered) == reported


def test_a_request_holds_no_refusal_where_only_answers_do() -> None:
    refusal = with_path(Text("no", refusal=True), "messages", 0)
    asked = lower_for(conversation(message("assistant", refusal)), refusals_in_history=False)
    assert parts(asked) == [("assistant", ["no"])] and pointers(asked) == ["/messages/0"]
    source = conversation(message("assistant", refusal), kind="response")
    assert lower_for(source, "response", refusals_in_history=False) == LoweredConversation(
        source, []
    )


@pytest.mark.parametrize(
    ("media", "capability", "kept"),
    [
        (Media("file", "text/csv", url="https://x/y", name="a.csv"), {"url_names": False}, None),
        (Media("file", "text/csv", url="https://x/y"), {"url_types": False}, None),
        (Media("image", url="https://x/y"), {"kind_by_type": frozenset({"url"})}, None),
        (Media("file", "text/csv", url="https://x/y.csv"), {"url_types": False}, "held"),
        (Media("image", data="aGk="), {"kind_by_type": frozenset({"url"})}, "held"),
        (Media("file", url="https://x/y"), {"kind_by_type": frozenset({"url"})}, "held"),
    ],
    ids=["name", "type", "kind", "type-in-the-url", "kind-of-data", "kind-of-a-file"],
)
def test_what_a_url_does_not_say_of_a_medium_is_reported(
    media: Media, capability: dict[str, object], kept: str | None
) -> None:
    source = conversation(message("user", with_path(media, "messages", 0)))
    assert pointers(lower_for(source, "request", **capability)) == ([] if kept else ["/messages/0"])


def test_fields_of_usage_that_are_zero_are_dropped_without_a_report() -> None:
    source = conversation(kind="response", settings={"usage": Usage(1, 2, cached=0)})
    lowered = lower_for(source, "response", usage_fields=frozenset())
    assert lowered.conversation.settings["usage"] == Usage(1, 2)
    assert pointers(lowered) == []


def test_fields_of_a_format_that_the_target_does_not_hold_are_reported() -> None:
    source = conversation(settings={"format": Format({"type": "object"}, name="n", strict=True)})
    lowered = lower_for(source, format_fields=frozenset({"name"}))
    assert lowered.conversation.settings["format"] == Format({"type": "object"}, name="n")
    assert pointers(lowered) == ["/format"]


# --- parts that open in a stream ------------------------------------------------------------------


def test_a_part_that_opens_in_a_stream_is_lowered_without_its_text() -> None:
    losses: list[object] = []
    refusal = lower_opening(Text("", refusal=True), Capabilities(refusals=False), losses=losses)  # type: ignore[arg-type]
    assert isinstance(refusal, Text) and not refusal.refusal
    none = Capabilities(reasoning_in_answers=False)
    assert lower_opening(Reasoning(""), none, losses=losses) is None  # type: ignore[arg-type]
    assert lower_opening(CALL, none, losses=losses) is CALL  # type: ignore[arg-type]
    assert len(losses) == 2


REQUESTS = [case for case in CASES if case.kind == "request"]


@rows("target", WIRES)
def test_lowering_messages_that_are_lowered_changes_nothing(target: str) -> None:
    """Rules and fixes see lowered messages, which are lowered again after each fix."""
    wire, profile = resolve(target)
    for case in REQUESTS:
        conversation = decode_in_full(case.body, case.wire)
        if conversation.wire == target:
            continue
        wire = wire_for_model(wire, profile, conversation)
        messages = MessageLowering(wire.capabilities, wire=target)
        observations = observe(conversation, target)
        lowering = lower_messages(conversation, wire, messages, "auto", observations)
        reported = list(messages.losses)
        assert messages.lower(lowering.conversation) is lowering.conversation, case.name
        assert messages.losses == reported, case.name


def test_a_call_at_the_end_that_gets_no_result_holds_back_no_media() -> None:
    history = conversation(
        message("assistant", CALL, Call("c2", "f", {})), message("user", CALL.result((IMAGE,)))
    )
    capabilities = Capabilities(result_media="after")
    waiting = MessageLowering(capabilities, wire="target").lower(history)
    sent = MessageLowering(capabilities, wire="target", abandon_pending=True).lower(history)
    assert not any(isinstance(part, Media) for part in waiting.parts())
    assert any(isinstance(part, Media) for part in sent.parts())
