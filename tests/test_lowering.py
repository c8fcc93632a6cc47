"""Lowering: what a target cannot hold becomes what it can, and each loss is reported once with the
pointer of the thing lost."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from toolwire import (
    Call,
    Choice,
    Conversation,
    Format,
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
from toolwire.conversation.json import JsonPath
from toolwire.conversation.parts import Source
from toolwire.errors import pointer
from toolwire.wires.engine.capabilities import DATA_ONLY, EVERYTHING, Capabilities, MediaSupport
from toolwire.wires.engine.lowering import Lowered, lower, lower_opening

IMAGE = Media("image", data="aGk=", mime="image/png")
CALL = Call("c1", "f", {"x": 1})


def at(part: Part, *path: str | int) -> Part:
    """A part that was read at a path."""
    return replace(part, source=Source(path=path))


def conversation(*messages: Message, kind: str = "request", **more: object) -> Conversation:
    return replace(Conversation(messages), wire="source", kind=kind, **more)


def said(role: str, *parts: Part) -> Message:
    return Message(role, parts)  # type: ignore[arg-type]


def lowered(given: Conversation, kind: str = "request", **capabilities: object) -> Lowered:
    return lower(given, Capabilities(**capabilities), wire="target", kind=kind)  # type: ignore[arg-type]


def pointers(found: Lowered) -> list[str]:
    return [pointer(loss.path) for loss in found.losses]


def parts(found: Lowered) -> list[tuple[str, list[str]]]:
    """The parts of every message, in a short form."""
    return [
        (message.role, [short(part) for part in message.parts])
        for message in found.conversation.messages
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
    given = conversation(said("assistant", at(Opaque("x", {"a": 1}), *PLACE)))
    assert lower(given, EVERYTHING, wire="target", kind="request") == Lowered(given, [])


def test_a_refusal_becomes_plain_text() -> None:
    found = lowered(
        conversation(said("assistant", at(Text("no", refusal=True), *PLACE))), refusals=False
    )
    assert parts(found) == [("assistant", ["no"])]
    assert pointers(found) == ["/messages/0/content/0"]


def test_an_opaque_part_is_removed_and_reported() -> None:
    found = lowered(
        conversation(said("user", Text("hi"), at(Opaque("x", {"a": 1}), *PLACE))), refusals=False
    )
    assert parts(found) == [("user", ["hi"])]
    assert pointers(found) == ["/messages/0/content/0"]


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
    kind: str, holds: dict[str, bool], kept: bool
) -> None:
    given = conversation(said("assistant", at(Reasoning("hm"), *PLACE), Text("so")), kind=kind)
    found = lowered(given, kind, **holds)
    assert parts(found) == [("assistant", ["reasoning hm", "so"] if kept else ["so"])]
    assert pointers(found) == ([] if kept else ["/messages/0/content/0"])


def test_reasoning_that_only_its_provider_can_read_is_removed() -> None:
    given = conversation(said("assistant", at(Reasoning("", hidden="secret"), *PLACE), Text("so")))
    found = lowered(given, refusals=False)
    assert parts(found) == [("assistant", ["so"])]
    assert pointers(found) == ["/messages/0/content/0"]
    assert lowered(given, opaque_reasoning=True).losses == []


def test_an_error_flag_that_cannot_be_sent_is_reported() -> None:
    result = at(CALL.result("boom", error=True), *PLACE)
    found = lowered(conversation(said("tool", result)), error_flag=False)
    assert pointers(found) == ["/messages/0/content/0"]
    assert found.conversation.results()[0].error


def test_text_after_a_call_moves_before_it_and_behind_earlier_text() -> None:
    late = at(Text("late"), *PLACE)
    found = lowered(
        conversation(said("assistant", Text("first"), CALL, late)), text_after_calls=False
    )
    assert parts(found) == [("assistant", ["first", "late", "call c1"])]
    assert pointers(found) == ["/messages/0/content/0"]


def test_a_late_system_message_becomes_a_users_and_the_first_one_stays() -> None:
    late = replace(said("system", Text("b")), source=Source(path=("messages", 2)))
    given = conversation(said("system", Text("a")), said("user", Text("hi")), late)
    found = lowered(given, system_anywhere=False)
    assert [message.role for message in found.conversation.messages] == ["system", "user", "user"]
    assert pointers(found) == ["/messages/2"]


def test_a_response_holds_one_candidate_and_what_the_assistant_says() -> None:
    others = [
        replace(said(role, Text(text)), source=Source(path=("choices", n)))
        for n, (role, text) in enumerate([("assistant", "a"), ("assistant", "b"), ("tool", "c")])
    ]
    given = conversation(*others, kind="response")
    found = lowered(given, "response", candidates=False)
    assert parts(found) == [("assistant", ["a"])]
    assert sorted(pointers(found)) == ["/choices/1", "/choices/2"]
    both = lowered(given, "response", refusals=False)
    assert parts(both) == [("assistant", ["a"]), ("assistant", ["b"])]


def test_a_response_of_the_target_itself_keeps_its_messages_and_tools() -> None:
    given = replace(
        conversation(said("assistant", Text("a")), said("tool", Text("b")), kind="response"),
        wire="target",
    )
    assert lowered(given, "response", refusals=False) == Lowered(given, [])


def test_a_message_that_was_read_from_the_target_is_not_touched() -> None:
    refusal = Text("no", refusal=True, source=Source(raw={"refusal": "no"}, path=PLACE))
    own = replace(said("assistant", refusal), wire="target")
    found = lowered(
        conversation(own, said("assistant", at(Text("no", refusal=True), *PLACE))), refusals=False
    )
    assert parts(found) == [("assistant", ["refusal no"]), ("assistant", ["no"])]
    assert len(found.losses) == 1


# --- media ----------------------------------------------------------------------------------------


def test_media_that_a_place_does_not_hold_are_named_in_text() -> None:
    media = {"user": MediaSupport(image=DATA_ONLY)}
    held, by_url = IMAGE, at(Media("image", url="https://x/y.png"), *PLACE)
    found = lowered(conversation(said("user", held, by_url)), media=media)
    assert parts(found)[0][1][0] == "image"
    assert "https://x/y.png" in parts(found)[0][1][1]
    assert pointers(found) == ["/messages/0/content/0"]
    assert "by URL" in found.losses[0].reason


def test_a_text_document_becomes_text() -> None:
    document = at(Media("file", text="lines", mime="text/plain"), *PLACE)
    found = lowered(conversation(said("user", document)), media={})
    assert "lines" in parts(found)[0][1][0]
    assert pointers(found) == ["/messages/0/content/0"]


def test_a_file_name_is_kept_for_the_kinds_that_have_one() -> None:
    image, file = (at(Media(kind, data="aGk=", name="n"), *PLACE) for kind in ("image", "file"))
    found = lowered(conversation(said("user", image, file)), media_names=frozenset({"file"}))
    assert parts(found) == [("user", ["image", "file n"])]
    assert pointers(found) == ["/messages/0/content/0"]


def test_media_of_results_follow_in_a_user_message_before_its_own_text() -> None:
    result = CALL.result((Text("see"), at(IMAGE, *PLACE)))
    given = conversation(said("assistant", CALL), said("tool", result), said("user", Text("and?")))
    found = lowered(given, result_media="after")
    assert parts(found) == [
        ("assistant", ["call c1"]),
        ("tool", ["result ['see', '[image image/png]']"]),
        ("user", ["From tool call c1:", "image", "and?"]),
    ]
    assert pointers(found) == ["/messages/0/content/0"]


def test_media_of_results_follow_before_the_assistant_goes_on() -> None:
    given = conversation(
        said("assistant", CALL), said("tool", CALL.result((IMAGE,))), said("assistant", Text("ok"))
    )
    assert [role for role, _ in parts(lowered(given, result_media="after"))] == [
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


def test_media_of_the_last_results_follow_at_the_end() -> None:
    given = conversation(said("assistant", CALL), said("tool", CALL.result((IMAGE,))))
    assert parts(lowered(given, result_media="after"))[-1] == (
        "user",
        ["From tool call c1:", "image"],
    )


# --- tools and settings ---------------------------------------------------------------------------


def tool(strict: bool | None) -> Tool:
    return replace(Tool("f"), strict=strict, source=Source(path=("tools", 0)))


@pytest.mark.parametrize(
    ("strict", "reported"), [(True, ["/tools/0"]), (False, ["/tools/0"]), (None, [])]
)
def test_a_tool_with_a_strict_flag_loses_it_where_there_is_none(
    strict: bool | None, reported: list[str]
) -> None:
    found = lowered(conversation(tools=(tool(strict),)), strict_tools=False)
    assert [one.strict for one in found.conversation.tools] == [None]
    assert pointers(found) == reported


@pytest.mark.parametrize("kind", ["request", "response"])
def test_tool_definitions_are_reported_where_there_is_no_place_for_them(kind: str) -> None:
    given = conversation(kind=kind, tools=(tool(None),))
    found = lowered(given, kind, tool_definitions=False)
    assert (found.conversation.tools, pointers(found)) == ((), ["/tools/0"])


@pytest.mark.parametrize(
    ("names", "held", "kept", "count"),
    [
        (("a", "b"), "any", ("a", "b"), 0),
        (("a", "b"), "one", (), 1),
        (("a",), "one", ("a",), 0),
        (("a",), "none", (), 1),
    ],
)
def test_a_tool_choice_names_as_many_tools_as_the_target_takes(
    names: tuple[str, ...], held: str, kept: tuple[str, ...], count: int
) -> None:
    given = conversation(settings={"choice": Choice("required", names)})
    found = lowered(given, choice_names=held, refusals=False)
    choice = found.conversation.settings["choice"]
    assert isinstance(choice, Choice) and choice.names == kept
    assert pointers(found) == ["/choice"] * count


def test_fields_of_usage_that_are_zero_are_dropped_without_a_report() -> None:
    given = conversation(kind="response", settings={"usage": Usage(1, 2, cached=0)})
    found = lowered(given, "response", usage_fields=frozenset())
    assert found.conversation.settings["usage"] == Usage(1, 2)
    assert pointers(found) == []


def test_fields_of_a_format_that_the_target_does_not_hold_are_reported() -> None:
    given = conversation(settings={"format": Format({"type": "object"}, name="n", strict=True)})
    found = lowered(given, format_fields=frozenset({"name"}))
    assert found.conversation.settings["format"] == Format({"type": "object"}, name="n")
    assert pointers(found) == ["/format"]


# --- parts that open in a stream ------------------------------------------------------------------


def test_a_part_that_opens_in_a_stream_is_lowered_without_its_text() -> None:
    losses: list[object] = []
    refusal = lower_opening(Text("", refusal=True), Capabilities(refusals=False), losses=losses)  # type: ignore[arg-type]
    assert isinstance(refusal, Text) and not refusal.refusal
    none = Capabilities(reasoning_in_answers=False)
    assert lower_opening(Reasoning(""), none, losses=losses) is None  # type: ignore[arg-type]
    assert lower_opening(CALL, none, losses=losses) is CALL  # type: ignore[arg-type]
    assert len(losses) == 2
