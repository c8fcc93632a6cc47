"""Conversations made by hand, and edited: each edit on every wire."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cases import WIRES, differences
from msgspec.structs import replace

from toolwire import Call, Conversation, Message, Text, UsageError, decode, encode
from toolwire.conversation.json import JSON, JsonPath, get

HISTORY_WIRES = [wire for wire in WIRES if wire != "oxp"]
"""The wires whose bodies hold several calls and their results. A body of OXP is one call."""
MODEL_WIRES = [wire for wire in HISTORY_WIRES if wire != "mcp"]
"""The wires that also hold what was said around the calls."""


def example() -> Conversation:
    """Two parallel calls of one tool, a call of another in the next turn, and their results."""
    oslo = Call("call00001", "weather", {"city": "Oslo"})
    rome = Call("call00002", "weather", {"city": "Rome"})
    clock = Call("call00003", "clock", '{"zone":"CET"}')
    return Conversation(
        [
            Message("user", "Is it warmer in Oslo or in Rome?"),
            Message("assistant", [oslo, rome]),
            Message("tool", [oslo.result("-3 degrees"), rome.result("24 degrees")]),
            Message("assistant", "In Rome."),
            Message("user", "What time is it there?"),
            Message("assistant", clock),
            Message("tool", clock.result("half past nine")),
        ]
    )


PairContent = tuple[str | None, JSON, str | None]


def contents(conversation: Conversation) -> list[PairContent]:
    """The name, arguments and result of every pair."""
    return [
        (
            None if pair.call is None else pair.call.name,
            None if pair.call is None else pair.call.input,
            None if pair.result is None else pair.result.text,
        )
        for pair in conversation.pairs()
    ]


OSLO: PairContent = ("weather", {"city": "Oslo"}, "-3 degrees")
ROME: PairContent = ("weather", {"city": "Rome"}, "24 degrees")
CLOCK: PairContent = ("clock", {"zone": "CET"}, "half past nine")


# --- conversations made by hand -------------------------------------------------------------------


@pytest.mark.parametrize("wire", HISTORY_WIRES)
def test_a_hand_made_conversation_decodes_to_the_same_pairs(wire: str) -> None:
    encoded = encode(example(), wire)
    assert contents(decode(encoded.json(), wire)) == [OSLO, ROME, CLOCK]


@pytest.mark.parametrize("wire", MODEL_WIRES)
def test_a_hand_made_conversation_goes_to_a_model_without_loss(wire: str) -> None:
    encoded = encode(example(), wire)
    assert encoded.losses == []
    texts = [part.text for part in decode(encoded.json(), wire).parts() if isinstance(part, Text)]
    assert [text.strip() for text in texts if text.strip()] == [
        "Is it warmer in Oslo or in Rome?",
        "In Rome.",
        "What time is it there?",
    ]


def test_a_hand_made_call_is_a_request_of_a_tool_protocol() -> None:
    conversation = Conversation(
        [Message("assistant", Call("c1", "travel.weather", {"city": "Oslo"}))]
    )
    encoded = encode(conversation, "oxp")
    assert encoded.losses == []
    assert contents(decode(encoded.json(), "oxp")) == [("travel.weather", {"city": "Oslo"}, None)]


def test_arguments_given_as_text_stay_verbatim() -> None:
    call = Call("c1", "weather", '{ "city": "Oslo" }')
    body = encode(Conversation([Message("assistant", call)]), "openai-chat").body
    path = ("messages", 0, "tool_calls", 0, "function", "arguments")
    assert get(body, path) == '{ "city": "Oslo" }'


@pytest.mark.parametrize("content", [Text("Hello"), [Text("Hello")], (Text("Hello"),), "Hello"])
def test_the_content_of_a_message_is_text_a_part_or_several_parts(
    content: str | Text | list[Text] | tuple[Text, ...],
) -> None:
    assert Message("user", content) == Message("user", (Text("Hello"),))


# --- each edit on every wire ----------------------------------------------------------------------

Edit = Callable[[Conversation, Call], Conversation]
EDITS: dict[str, tuple[Edit, PairContent]] = {
    "rename_call": (
        lambda conversation, call: conversation.rename_call(call, "forecast"),
        ("forecast", {"city": "Rome"}, "24 degrees"),
    ),
    "change_call_id": (
        lambda conversation, call: conversation.change_call_id(call, "renamed01"),
        ROME,
    ),
    "change_arguments": (
        lambda conversation, call: conversation.change_arguments(call, {"city": "Bari"}),
        ("weather", {"city": "Bari"}, "24 degrees"),
    ),
    "change_arguments to text": (
        lambda conversation, call: conversation.change_arguments(call, '{"city":"Bari"}'),
        ("weather", {"city": "Bari"}, "24 degrees"),
    ),
    "replace_result": (
        lambda conversation, call: conversation.replace_result(call, "25 degrees"),
        ("weather", {"city": "Rome"}, "25 degrees"),
    ),
    "replace": (
        lambda conversation, call: conversation.replace(call, replace(call, name="forecast")),
        ("forecast", {"city": "Rome"}, "24 degrees"),
    ),
}
"""For each edit: how it is made, and what the pair then holds."""


def is_within(path: JsonPath, blocks: list[JsonPath]) -> bool:
    return any(path[: len(block)] == block for block in blocks)


@pytest.mark.parametrize("verb", EDITS)
@pytest.mark.parametrize("wire", HISTORY_WIRES)
def test_an_edit_changes_its_pair_and_nothing_else(wire: str, verb: str) -> None:
    body = encode(example(), wire).body
    conversation = decode(body, wire)
    pair = conversation.pair_of(conversation.calls()[1])
    assert pair.call is not None and pair.result is not None
    edit, expected = EDITS[verb]
    edited = edit(conversation, pair.call)
    assert contents(edited) == [OSLO, expected, CLOCK]
    encoded = encode(edited, wire)
    assert encoded.losses == []
    assert contents(decode(encoded.json(), wire)) == [OSLO, expected, CLOCK]
    changed = list(differences(body, encoded.body))
    assert changed
    assert [p for p in changed if not is_within(p, [pair.call.path, pair.result.path])] == []
    assert contents(conversation) == [OSLO, ROME, CLOCK], "the input is not modified"


@pytest.mark.parametrize("wire", HISTORY_WIRES)
def test_a_changed_call_id_is_the_id_of_call_and_result(wire: str) -> None:
    conversation = decode(encode(example(), wire).body, wire)
    edited = conversation.change_call_id(conversation.calls()[1], "renamed01")
    pair = edited.pair_of(edited.calls()[1])
    assert pair.call is not None and pair.result is not None
    assert (pair.call.id, pair.result.call_id) == ("renamed01", "renamed01")


@pytest.mark.parametrize("target", HISTORY_WIRES)
def test_edits_travel_to_every_other_wire(target: str) -> None:
    source = "gemini" if target != "gemini" else "anthropic"
    conversation = decode(encode(example(), source).body, source)
    edited = conversation.rename_call(conversation.calls()[1], "forecast")
    edited = edited.replace_result(edited.calls()[1], "25 degrees")
    expected = ("forecast", {"city": "Rome"}, "25 degrees")
    assert contents(decode(encode(edited, target).json(), target)) == [OSLO, expected, CLOCK]


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("wire", HISTORY_WIRES)
def test_delete_pair_removes_both_halves_and_keeps_the_other_pairs(wire: str, index: int) -> None:
    conversation = decode(encode(example(), wire).body, wire)
    edited = conversation.delete_pair(conversation.calls()[index])
    kept = [pair for n, pair in enumerate([OSLO, ROME, CLOCK]) if n != index]
    assert contents(edited) == kept
    encoded = encode(edited, wire)
    assert encoded.losses == []
    assert contents(decode(encoded.json(), wire)) == kept
    deleted = conversation.results()[index].text
    assert deleted not in encoded.json().decode()


def test_delete_pair_removes_the_messages_that_held_nothing_else() -> None:
    conversation = example()
    edited = conversation.delete_pair(conversation.calls()[2])
    assert [message.role for message in edited.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]


def test_delete_pair_removes_a_call_that_has_no_result() -> None:
    call = Call("c1", "weather", {})
    conversation = Conversation([Message("user", "Hello"), Message("assistant", call)])
    assert conversation.delete_pair(call).messages == (Message("user", "Hello"),)


def test_edits_of_one_part_add_up() -> None:
    body = encode(example(), "anthropic").body
    edited = decode(body, "anthropic")
    for step in ("forecast", "climate"):
        edited = edited.rename_call(edited.calls()[1], step)
        edited = edited.change_arguments(edited.calls()[1], {"town": step})
    written_body = encode(edited, "anthropic").body
    assert contents(decode(written_body, "anthropic"))[1] == (
        "climate",
        {"town": "climate"},
        "24 degrees",
    )


def test_arguments_that_the_wire_cannot_hold_are_reported_on_the_own_wire() -> None:
    use: JSON = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    body: JSON = {"messages": [{"role": "assistant", "content": [use]}]}
    conversation = decode(body, "anthropic")
    (call,) = conversation.calls()
    edited = conversation.replace(call, Call("a", "f", "not JSON"))
    encoded = encode(edited, "anthropic")
    assert [loss.path for loss in encoded.losses] == [("messages", 0, "content", 0)]
    assert get(encoded.body, ("messages", 0, "content", 0, "input")) == {"_raw": "not JSON"}


def test_pair_of_gives_the_pair_of_a_call_and_of_a_result() -> None:
    conversation = example()
    call, result = conversation.calls()[1], conversation.results()[1]
    for part in (call, result):
        pair = conversation.pair_of(part)
        assert pair.call is call
        assert pair.result is result
        assert pair.how == "id"


# --- results that only a name ties to their call --------------------------------------------------

NAMED: dict[str, tuple[JSON, list[JsonPath]]] = {
    "gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Oslo?", "unknown": 1}], "unknown": 2},
                {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {
                                "name": "weather",
                                "args": {"city": "Oslo"},
                                "unknown": 3,
                            }
                        },
                        {
                            "functionCall": {"name": "clock", "args": {}, "unknown": 6},
                            "thoughtSignature": "c2ln",
                        },
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "clock", "response": {"output": "nine"}}},
                        {
                            "functionResponse": {"name": "weather", "response": {"output": "-3"}},
                            "unknown": 4,
                        },
                    ],
                },
            ],
            "unknown": 5,
        },
        [
            ("contents", 1, "parts", 0, "functionCall", "name"),
            ("contents", 2, "parts", 1, "functionResponse", "name"),
        ],
    ),
    "ollama": (
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "Oslo?", "unknown": 1},
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {
                            "function": {"name": "weather", "arguments": {"city": "Oslo"}},
                            "unknown": 2,
                        },
                        {"function": {"name": "clock", "arguments": {}}, "unknown": 6},
                    ],
                },
                {"role": "tool", "tool_name": "clock", "content": "nine"},
                {"role": "tool", "tool_name": "weather", "content": "-3", "unknown": 3},
            ],
        },
        [("messages", 1, "tool_calls", 0, "function", "name"), ("messages", 3, "tool_name")],
    ),
    "genkit": (
        {
            "messages": [
                {"role": "user", "content": [{"text": "Oslo?", "unknown": 1}]},
                {
                    "role": "model",
                    "content": [
                        {
                            "toolRequest": {"name": "weather", "input": {"city": "Oslo"}},
                            "unknown": 2,
                        },
                        {"toolRequest": {"name": "clock", "input": {}}, "unknown": 6},
                    ],
                },
                {
                    "role": "tool",
                    "content": [
                        {"toolResponse": {"name": "clock", "output": "nine"}},
                        {"toolResponse": {"name": "weather", "output": "-3"}, "unknown": 3},
                    ],
                },
            ]
        },
        [
            ("messages", 1, "content", 0, "toolRequest", "name"),
            ("messages", 2, "content", 1, "toolResponse", "name"),
        ],
    ),
    "openai-chat": (
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "Oslo?", "unknown": 1},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "a",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{ "city": "Oslo" }'},
                            "unknown": 2,
                        },
                        {
                            "id": "b",
                            "type": "function",
                            "function": {"name": "clock", "arguments": "{}"},
                            "unknown": 6,
                        },
                    ],
                    "unknown": 3,
                },
                {"role": "tool", "tool_call_id": "b", "name": "clock", "content": "nine"},
                {
                    "role": "tool",
                    "tool_call_id": "a",
                    "name": "weather",
                    "content": "-3",
                    "unknown": 4,
                },
            ],
        },
        [("messages", 1, "tool_calls", 0, "function", "name"), ("messages", 3, "name")],
    ),
}
"""Bodies whose results carry the name of their tool, and the places of that name and the call's."""
named = pytest.mark.parametrize("wire", [wire for wire in NAMED if wire in WIRES])


@named
def test_a_result_with_the_name_of_its_tool_is_renamed_with_its_call(wire: str) -> None:
    body, places = NAMED[wire]
    conversation = decode(body, wire)
    edited = conversation.rename_call(conversation.calls()[0], "forecast")
    encoded = encode(edited, wire)
    assert encoded.losses == []
    assert list(differences(body, encoded.body)) == places
    assert [get(encoded.body, place) for place in places] == ["forecast", "forecast"]
    assert contents(decode(encoded.json(), wire)) == [
        ("forecast", {"city": "Oslo"}, "-3"),
        ("clock", {}, "nine"),
    ]


@named
def test_a_name_that_both_tools_get_does_not_mix_up_their_results(wire: str) -> None:
    conversation = decode(NAMED[wire][0], wire)
    edited = conversation.rename_call(conversation.calls()[0], "clock")
    expected = [("clock", {"city": "Oslo"}, "-3"), ("clock", {}, "nine")]
    assert contents(edited) == expected
    assert contents(decode(encode(edited, wire).json(), wire)) == expected


@named
def test_a_renamed_call_goes_to_another_wire_with_its_result(wire: str) -> None:
    conversation = decode(NAMED[wire][0], wire)
    edited = conversation.rename_call(conversation.calls()[0], "forecast")
    target = "anthropic"
    assert contents(decode(encode(edited, target).json(), target)) == [
        ("forecast", {"city": "Oslo"}, "-3"),
        ("clock", {}, "nine"),
    ]


@named
def test_delete_pair_keeps_the_rest_of_the_body_verbatim(wire: str) -> None:
    body, (call_path, result_path) = NAMED[wire]
    conversation = decode(body, wire)
    written_body = encode(conversation.delete_pair(conversation.calls()[0]), wire).body
    assert contents(decode(written_body, wire)) == [("clock", {}, "nine")]
    key = "contents" if wire == "gemini" else "messages"
    assert get(written_body, (key, 0)) == get(body, (key, 0))
    clock = call_path[:3] + (1,)
    assert get(written_body, call_path[:3] + (0,)) == get(body, clock)
    assert get(written_body, (key, 2, *_first(result_path))) == get(
        body, (key, 2, *_first(result_path))
    )


def _first(result_path: JsonPath) -> JsonPath:
    """The place of the first result inside the third message: the message itself on some wires."""
    return (result_path[2], 0) if len(result_path) > 3 else ()


@named
def test_another_call_id_keeps_a_pair_together(wire: str) -> None:
    conversation = decode(NAMED[wire][0], wire)
    edited = conversation.change_call_id(conversation.calls()[0], "renamed01")
    assert contents(edited) == contents(conversation)
    encoded = encode(edited, wire)
    assert encoded.losses == []
    assert contents(decode(encoded.json(), wire)) == contents(conversation)


def test_another_call_id_keeps_code_and_its_output_together() -> None:
    parts: list[JSON] = [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
    ]
    conversation = decode({"contents": [{"role": "model", "parts": parts}]}, "gemini")
    edited = conversation.change_call_id(conversation.calls()[0], "renamed01")
    assert contents(edited) == contents(conversation)
    (pair,) = decode(encode(edited, "gemini").json(), "gemini").pairs()
    assert pair.call is not None and pair.call.id == "renamed01" and pair.how == "id"


# --- mistakes -------------------------------------------------------------------------------------

CALL = Call("c1", "weather", {"city": "Oslo"})
OPEN_CALL = Conversation([Message("user", "Oslo?"), Message("assistant", CALL)])
STRANGER = Call("c1", "weather", {"city": "Oslo"})
"""Equal to the call of the conversation, and not the same."""

NOT_JSON: dict[str, tuple[Callable[[], object], str]] = {
    "keys": (
        lambda: Call("a", "f", {1: 2}),  # type: ignore[dict-item]
        "arguments of a call: expected keys that are strings, got a number",
    ),
    "set": (
        lambda: Call("a", "f", {1, 2}),  # type: ignore[arg-type]
        "arguments of a call: expected a JSON value, got set",
    ),
    "nan": (
        lambda: Call("a", "f", {"x": float("nan")}),
        "/x: arguments of a call: nan is not a JSON number",
    ),
    "bytes": (
        lambda: Call("a", "f", b"{}"),  # type: ignore[arg-type]
        "arguments of a call: expected a JSON value, got bytes",
    ),
    "edited arguments": (
        lambda: OPEN_CALL.change_arguments(CALL, {1: 2}),  # type: ignore[dict-item]
        "arguments of a call: expected keys that are strings, got a number",
    ),
    "result": (
        lambda: CALL.result({1, 2}),  # type: ignore[arg-type]
        "expected a JSON value, got set",
    ),
    "number as content": (
        lambda: Message("user", 5),  # type: ignore[arg-type]
        "expected text or a list of parts, got int",
    ),
    "dict as content": (
        lambda: Message("user", {"text": "Hello"}),  # type: ignore[arg-type]
        "expected text or a list of parts, got dict",
    ),
    "no content": (
        lambda: Message("user", None),  # type: ignore[arg-type]
        "expected text or a list of parts, got NoneType",
    ),
    "text among parts": (
        lambda: Message("user", ["Hello"]),  # type: ignore[list-item]
        "expected parts in a message, got str",
    ),
    "role": (
        lambda: Message("alien", "Hello"),  # type: ignore[arg-type]
        "a role is one of system, user, assistant, tool, not 'alien'",
    ),
    "empty id": (
        lambda: Call("", "weather"),
        "the id of a call must be a non-empty string, not ''",
    ),
    "id that is a number": (
        lambda: Call(7, "weather"),  # type: ignore[arg-type]
        "the id of a call must be a non-empty string, not 7",
    ),
    "empty name": (lambda: Call("c1", ""), "the name of a tool must be a non-empty string, not ''"),
    "text as conversation": (
        lambda: Conversation("Hello"),  # type: ignore[arg-type]
        "expected a list of messages, got str",
    ),
    "dicts as messages": (
        lambda: Conversation([{"role": "user", "content": "Hello"}]),  # type: ignore[list-item]
        "expected messages in the list, got dict",
    ),
    "dicts as tools": (
        lambda: Conversation([Message("user", "Hello")], [{"name": "f"}]),  # type: ignore[list-item]
        "expected tool definitions in the list, got dict",
    ),
}


@pytest.mark.parametrize("mistake", NOT_JSON)
def test_a_value_of_the_wrong_type_is_a_usage_error_that_names_it(mistake: str) -> None:
    make, message = NOT_JSON[mistake]
    with pytest.raises(UsageError) as raised:
        make()
    assert str(raised.value) == message


EDITS_OF_MISSING_PARTS: dict[str, Callable[[], object]] = {
    "rename_call": lambda: OPEN_CALL.rename_call(STRANGER, "forecast"),
    "change_call_id": lambda: OPEN_CALL.change_call_id(STRANGER, "c2"),
    "change_arguments": lambda: OPEN_CALL.change_arguments(STRANGER, {}),
    "replace_result": lambda: OPEN_CALL.replace_result(STRANGER, "-3"),
    "delete_pair": lambda: OPEN_CALL.delete_pair(STRANGER),
    "pair_of": lambda: OPEN_CALL.pair_of(STRANGER),
    "pair_of a result": lambda: OPEN_CALL.pair_of(CALL.result("-3")),
    "replace": lambda: OPEN_CALL.replace(Text("Oslo?"), Text("Rome?")),
}


@pytest.mark.parametrize("verb", EDITS_OF_MISSING_PARTS)
def test_a_part_that_is_not_in_the_conversation_is_a_usage_error(verb: str) -> None:
    with pytest.raises(UsageError, match=r"^that part is not in this conversation; take it from "):
        EDITS_OF_MISSING_PARTS[verb]()


def test_a_result_that_is_not_there_cannot_be_replaced() -> None:
    with pytest.raises(UsageError, match=r"^the call c1 has no result$"):
        OPEN_CALL.replace_result(CALL, "-3 degrees")


def test_what_is_not_a_part_does_not_replace_one() -> None:
    with pytest.raises(UsageError, match=r"^expected a part, got str$"):
        OPEN_CALL.replace(CALL, "text")  # type: ignore[arg-type]


def test_a_body_is_not_encoded_but_decoded_first() -> None:
    with pytest.raises(UsageError, match=r"^expected a Conversation, got dict; .*decode"):
        encode({"messages": []}, "openai-chat")  # type: ignore[arg-type]


def test_a_body_in_the_place_of_the_wire_is_not_quoted() -> None:
    with pytest.raises(UsageError, match=r"^expected the name of a wire, got dict$"):
        decode("openai-chat", {"messages": []})  # type: ignore[arg-type]
