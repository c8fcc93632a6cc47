"""What is peculiar to tools in plain text: dialects, spans that share one string, the section with
the tools."""

from __future__ import annotations

import pytest
from cases import Case, load
from msgspec.structs import replace

from toolwire import (
    Call,
    Conversation,
    Message,
    Result,
    Text,
    Tool,
    check,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind
from toolwire.streaming.restream import fold, restream
from toolwire.wires.engine.specs import require_object
from toolwire.wires.text.dialects import DIALECTS
from toolwire.wires.text.scanner import find_calls
from toolwire.wires.text.tags import find_results, find_tools, write_tools

WEATHER: Object = {"type": "object", "properties": {"city": {"type": "string"}}}


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """The catalogue has no types of this wire, whose calls are text."""
    return None


def request(*messages: tuple[str, str]) -> Object:
    return {"messages": [{"role": role, "content": content} for role, content in messages]}


def content_of(body: JSON, n: int) -> str:
    content = get(body, ("messages", n, "content"))
    assert isinstance(content, str)
    return content


def parse_calls(text: str) -> list[tuple[str, JSON]]:
    return [
        (call.name, call.input) for call in decode(request(("assistant", text)), "text").calls()
    ]


# --- dialects -------------------------------------------------------------------------------------

ARGUMENTS: tuple[Object, ...] = (
    {},
    {"city": "Paris", "days": [1, -2.5, None, True], "deep": {"a": {"b": []}}},
    {"text": 'a "quoted"\nline with </tool_call>, </parameter> and <invoke name="x">, ünïcode 🛰'},
    {"looks_like_json": "12", "other": "true", "third": '"x"', "empty": "", "blank": " "},
)


@pytest.mark.parametrize("args", ARGUMENTS, ids=range(len(ARGUMENTS)))
@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_reads_what_it_writes(name: str, args: Object) -> None:
    dialect = DIALECTS[name]
    spans = [
        dialect.write(tool, args, call_id if dialect.has_ids else None, None)
        for tool, call_id in (("look", "c1"), ("go.on", "c2"))
    ]
    block = dialect.write_block([span for span in spans if span is not None])
    found, blocks = find_calls(block)
    assert found is dialect
    calls = [call for block in blocks for call in block.calls]
    assert [(call.name, call.args.value, call.id) for call in calls] == [
        ("look", args, "c1" if dialect.has_ids else None),
        ("go.on", args, "c2" if dialect.has_ids else None),
    ]
    assert [block[call.start : call.end] for call in calls] == spans


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>', [("f", {"a": 1})]),
        ('{"name": "f", "parameters": {"a": 1}}', [("f", {"a": 1})]),
        ('Sure. <|python_tag|>{"name": "f", "parameters": {}}<|eom_id|>', [("f", {})]),
        (
            '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]',
            [("f", {"a": 1}), ("g", {})],
        ),
        (
            '[f(a=1), g(b="x", c={"d": [True, None]})]',
            [("f", {"a": 1}), ("g", {"b": "x", "c": {"d": [True, None]}})],
        ),
        ("[f(a=false, **{'b-c': -1})]", [("f", {"a": False, "b-c": -1})]),
        ('<invoke name="f"><parameter name="a">1</parameter></invoke>', [("f", {"a": 1})]),
        ('<function_calls><invoke name="f"></invoke></function_calls>', [("f", {})]),
    ],
)
def test_calls_are_found_in_every_dialect(text: str, calls: list[tuple[str, JSON]]) -> None:
    assert parse_calls(text) == calls


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {</tool_call>',
        '<tool_call>{"name": "f", "arguments": {}}',
        '<tool_call>{"arguments": {}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>',
        '{"name": "Ann"}',
        '{"name": "Ann", "parameters": {}, "age": 7}',
        '{"name": "f", "parameters": {}} is how to call it',
        '[TOOL_CALLS] [{"name": "f"}, 7]',
        "[1, 2, 3]",
        "[f(a), g(b=2)]",
        "[f(a=open('x'))]",
        "[f(a=1)",
        "see [f(a=1)]",
        '<invoke name="f">and then?</invoke>',
        "<invoke>x</invoke>",
    ],
)
def test_text_that_does_not_parse_stays_text(text: str) -> None:
    conversation = decode(request(("assistant", text)), "text")
    assert list(conversation.parts()) == [Text(text)]


def test_python_is_parsed_and_never_run() -> None:
    assert parse_calls("[f(a=__import__('os').system('true'))]") == []
    assert parse_calls("[f(a=(lambda: 1)())]") == []
    assert parse_calls("[" * 5000 + "f(a=1)" + "]" * 5000) == []


def test_a_truncated_text_is_read_and_written_back_verbatim() -> None:
    for case in load("text"):
        messages = get(case.body, ("messages",))
        for message in messages if isinstance(messages, list) else ():
            role, text = str(get(message, ("role",))), get(message, ("content",))
            for cut in range(0, len(text), 3) if isinstance(text, str) else ():
                body = request((role, str(text)[:cut]), (role, str(text)[cut:]))
                conversation = decode(body, "text")
                assert encode(replace(conversation, settings={}), "text").body == body, (
                    case.name,
                    cut,
                )


# --- parts ----------------------------------------------------------------------------------------


def test_text_around_tags_stays_text_in_order() -> None:
    text = 'First.\n<tool_call>{"id": "c1", "name": "f", "arguments": {}}</tool_call>\n\nThen.'
    parts = list(decode(request(("assistant", text)), "text").parts())
    assert parts == [Text("First."), Call("c1", "f", LazyJson("{}")), Text("\nThen.")]


def test_editing_a_call_changes_just_its_span() -> None:
    first, second = (
        '{"id": "c1", "name": "f",  "arguments": {"a": 1}, "why": "so"}',
        '{"name": "g", "arguments": {}}',
    )
    text = f"First.\n<tool_call>\n{first}\n</tool_call> and <tool_call>{second}</tool_call>\nThen."
    conversation = decode(request(("assistant", text)), "text")
    call = conversation.calls()[0]
    body = encode(conversation.replace(call, replace(call, name="h")), "text").body
    assert content_of(body, 0) == text.replace(
        first, '{"id":"c1","name":"h","arguments":{"a":1},"why":"so"}'
    )


def test_several_edits_in_one_string_all_hold() -> None:
    case = next(case for case in load("text") if case.name == "invoke")
    conversation = decode(case.body, "text")
    for n in range(2):
        call = conversation.calls()[n]
        conversation = conversation.replace(
            call, replace(call, args=LazyJson('{"city": "Bergen"}'))
        )
    words = next(
        part for part in conversation.parts() if isinstance(part, Text) and part.text == "Done."
    )
    conversation = conversation.replace(words, Text("Well done."))
    body = encode(conversation, "text").body
    assert (
        content_of(body, 1)
        == 'I will look.\n<function_calls>\n<invoke name="get_weather">\n<parameter'
        ' name="city">Bergen</parameter>\n</invoke>\n<invoke name="get_weather"'
        ' id="c2">\n<parameter'
        ' name="city">Bergen</parameter>\n</invoke>\n</function_calls>\nWell done.'
    )


def test_an_edit_that_a_dialect_cannot_express_is_reported_and_not_applied() -> None:
    body = request(("assistant", "[f(a=1)]"))
    conversation = decode(body, "text")
    call = conversation.calls()[0]
    encoded = encode(conversation.replace(call, replace(call, name="not a name")), "text")
    assert encoded.body == body
    assert [loss.pointer for loss in encoded.losses] == ["/messages/0/content"]


def test_editing_a_result_keeps_its_form() -> None:
    text = (
        '<tool_response>\n18 C\n</tool_response>\n<tool_response>{"tool_call_id": "c2", "content":'
        ' "9 C"}</tool_response>'
    )
    conversation = decode(request(("assistant", "Hm."), ("user", text)), "text")
    for n, new in enumerate(("19 C", "10 C")):
        result = conversation.results()[n]
        conversation = conversation.replace(result, replace(result, output=new))
    body = encode(conversation, "text").body
    assert content_of(body, 1) == text.replace("18", "19").replace(
        '"tool_call_id": "c2", "content": "9 C"', '"tool_call_id":"c2","content":"10 C"'
    )


def test_missing_ids_are_minted_and_never_written_and_results_pair_by_order() -> None:
    case = next(case for case in load("text") if case.name == "calls-without-ids")
    conversation = decode(case.body, "text")
    assert all(is_minted(call.id) for call in conversation.calls())
    assert [pair.result and pair.result.text for pair in conversation.pairs()] == [
        "18 C",
        "9 C",
        "12:00",
    ]
    over = encode(conversation, "anthropic")
    restored = translate(over.body, "anthropic", "text", ids=over.ids)
    assert b"tw-" not in restored.json()
    decoded = decode(restored.body, "text")
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text) for pair in decoded.pairs()
    ] == [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in conversation.pairs()
    ]


def test_calls_in_two_messages_of_one_turn_keep_their_results_in_order() -> None:
    contents: list[JSON] = [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 1}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"k": 2}}}]},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"output": text}}}
                for text in ("one", "two")
            ],
        },
    ]
    translated = translate({"contents": contents}, "gemini", "text")
    assert b"tw-" not in translated.json()
    pairs = decode(translated.json(), "text").pairs()
    assert [
        (pair.call and pair.call.input, pair.result and pair.result.text) for pair in pairs
    ] == [({"k": 1}, "one"), ({"k": 2}, "two")]


def test_a_minted_id_is_sent_on_both_sides_where_order_would_pair_otherwise() -> None:
    ids = ("tw-0123456789abcdef", "tw-fedcba9876543210")
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call_id in ids
    ]
    call_message: JSON = {"role": "assistant", "content": None, "tool_calls": calls}
    translated = translate(
        {"messages": [call_message, {"role": "tool", "tool_call_id": ids[1], "content": "b"}]},
        "openai-chat",
        "text",
    )
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in decode(translated.json(), "text").pairs()
    ] == [(ids[0], None), (ids[1], "b")]
    assert translated.losses == []


# --- writing --------------------------------------------------------------------------------------


def test_a_conversation_survives_a_round_trip_over_text() -> None:
    body: Object = {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Paris and Oslo?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"city":"Paris"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "look", "arguments": '{"city":"Oslo"}'},
                    },
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "9 C"},
            {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
            {"role": "user", "content": "So?"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Look", "parameters": WEATHER},
            }
        ],
    }
    translated = translate(body, "openai-chat", "text")
    assert translated.losses == []
    assert [get(translated.body, ("messages", n, "role")) for n in range(5)] == [
        "system",
        "user",
        "assistant",
        "user",
        "user",
    ]
    assert content_of(translated.body, 0).startswith("Be brief.\n\n# Tools\n")
    assert (
        content_of(translated.body, 2)
        == 'Looking.\n<tool_call>{"id":"c1","name":"look","arguments":{"city":"Paris"}}</tool_call>\n'
        '<tool_call>{"id":"c2","name":"look","arguments":{"city":"Oslo"}}</tool_call>'
    )
    assert (
        content_of(translated.body, 3)
        == '<tool_response>{"id":"c1","name":"look","content":"18 C"}</tool_response>\n'
        '<tool_response>{"id":"c2","name":"look","content":"9 C"}</tool_response>'
    )
    written_body = translate(translated.body, "text", "openai-chat", ids=translated.ids).body
    assert isinstance(written_body, dict)
    assert written_body["tools"] == body["tools"]
    old, new = decode(body, "openai-chat"), decode(written_body, "openai-chat")
    assert [(p.call, p.result and p.result.text) for p in new.pairs()] == [
        (p.call, p.result and p.result.text) for p in old.pairs()
    ]
    assert new.messages[0] == old.messages[0]


def test_user_text_beside_results_stays_in_their_message() -> None:
    call = Call("c1", "look", LazyJson("{}"))
    conversation = Conversation(
        (
            Message("assistant", (call,)),
            Message("user", (call.result({"a": 1}, error=True), Text("And?"))),
        )
    )
    body = encode(conversation, "text").body
    assert (
        content_of(body, 1)
        == '<tool_response>{"id":"c1","name":"look","content":{"a":1},"error":true}</tool_response>\nAnd?'
    )
    decoded = decode(body, "text")
    assert (decoded.results()[0].output, decoded.results()[0].error) == ({"a": 1}, True)


def test_text_that_would_be_read_as_a_call_is_reported() -> None:
    text = 'Write <tool_call>{"name": "f", "arguments": {}}</tool_call> to call.'
    encoded = translate(request(("user", "How?"), ("assistant", text)), "openai-chat", "text")
    assert [loss.pointer for loss in encoded.losses] == ["/messages/1/content"]
    assert translate(request(("user", text)), "openai-chat", "text").losses == []


CALLS_OF_CHAT: list[JSON] = [
    {"id": f"c{n}", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    for n, arguments in enumerate(('{"city":"Oslo"}', '{"city":"Rome"}'))
]


@pytest.mark.parametrize("after", ["", "\nSo I tried."])
@pytest.mark.parametrize("before", ["", "I would write\n"])
@pytest.mark.parametrize("name", DIALECTS)
def test_calls_are_read_also_after_a_text_with_tags(name: str, before: str, after: str) -> None:
    dialect = DIALECTS[name]
    text = dialect.write_block([dialect.write("search", {"q": "a"}, None, None) or ""])
    text = f"{before}{text}{after}"
    message: Object = {"role": "assistant", "content": text, "tool_calls": CALLS_OF_CHAT}
    body: Object = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    written = translate(body, "openai-chat", "text", "response").body
    calls = decode(written, "text", "response").calls()
    assert [call.input for call in calls][-2:] == [{"city": "Oslo"}, {"city": "Rome"}]
    deltas: list[Object] = [{"content": character} for character in text]
    deltas += [
        {"tool_calls": [{"index": 0, **require_object(CALLS_OF_CHAT[0])}]},
        {"tool_calls": [{"index": 1, **require_object(CALLS_OF_CHAT[1])}]},
    ]
    chunks: list[Object] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    folded = fold(restream(chunks, "openai-chat", "text", framed=False), "text")
    content_path = ("choices", 0, "message", "content")
    assert get(folded, content_path) == get(written, content_path)


def test_a_call_that_tags_before_it_hide_is_reported() -> None:
    text = '<invoke name="search">\n</invoke>'
    call = Call("c1", 'say "hi"', {})
    history = Conversation((Message("assistant", (Text(text), call)),))
    encoded = encode(history, "text")
    assert not [call for call in decode(encoded.body, "text").calls() if call.name != "search"]
    reason = "the text before this call has tags that hide the call"
    assert reason in [loss.reason for loss in encoded.losses]


def test_a_translation_repairs_calls_and_results_that_are_read_from_its_texts() -> None:
    calls = "".join(f'<tool_call>{{"name": "{name}"}}</tool_call>' for name in "fg")
    messages: JSON = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": "<tool_response>1</tool_response>"},
    ]
    sent = translate({"messages": messages}, "openai-chat", "text")
    assert [change.name for change in sent.changes] == ["ambiguous-same-name"]
    assert [found for found in check(sent.body, "text") if found.fix] == []


def test_a_response_with_calls_stops_for_tools() -> None:
    conversation = Conversation(
        (Message("assistant", (Text("Hm."), Call("c1", "look", LazyJson("{}"))), "tool"),),
        kind="response",
    )
    encoded = encode(conversation, "text", "response")
    assert encoded.losses == []
    assert get(encoded.body, ("choices", 0, "finish_reason")) == "stop"
    assert [message.stop for message in decode(encoded.body, "text", "response").messages] == [
        "tool"
    ]


# --- tools ----------------------------------------------------------------------------------------


def test_the_tool_section_is_recognized_and_is_no_part_of_the_prompt() -> None:
    tools = (Tool("look", "Look </tools>", WEATHER, True), Tool("now"))
    conversation = Conversation(
        (Message("system", (Text("Be brief."),)), Message("user", (Text("Hi"),))), tools
    )
    body = encode(conversation, "text").body
    decoded = decode(body, "text")
    assert decoded.tools == tools
    assert decoded.messages == conversation.messages


def test_tools_can_be_exchanged_or_taken_away_and_the_prompt_around_them_stays() -> None:
    case = next(case for case in load("text") if case.name == "tools-in-a-foreign-prompt")
    conversation = decode(case.body, "text")
    assert [tool.name for tool in conversation.tools] == ["get_weather"]
    other = encode(replace(conversation, tools=(Tool("now"),)), "text").body
    assert content_of(other, 0).startswith("You may call functions.")
    assert content_of(other, 0).endswith("\nBe quick.")
    assert decode(other, "text").tools == (Tool("now"),)
    none = encode(replace(conversation, tools=()), "text").body
    assert find_tools(content_of(none, 0)) is None
    assert content_of(none, 0).endswith("Be quick.")


def test_tools_make_a_system_prompt_where_there_is_none() -> None:
    body = encode(Conversation((Message("user", (Text("Hi"),)),), (Tool("now"),)), "text").body
    assert body == {
        "messages": [
            {"role": "system", "content": write_tools([{"name": "now"}])},
            {"role": "user", "content": "Hi"},
        ]
    }


# --- the rest -------------------------------------------------------------------------------------


def test_a_conversation_without_calls_is_not_detected_as_this_wire() -> None:
    body = request(("user", "Hi"), ("assistant", "Hello."))
    assert [type(part) for part in decode(body, "text").parts()] == [Text, Text]
    with pytest.raises(Exception, match="name the wire") as caught:
        detect(body)
    assert "text" not in str(caught.value).replace("name the wire", "")


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in load("text")
        if case.name in ("parallel-calls-by-id", "calls-without-ids", "invoke")
    ],
    ids=str,
)
def test_detect_finds_this_wire_by_tagged_calls_and_results(case: Case) -> None:
    assert detect(case.body) == "text"


def test_a_result_of_every_tag_is_found() -> None:
    assert [
        answer.output
        for answer in find_results(
            "<tool_response>a</tool_response><tool_response>\nb\n</tool_response>"
        )
    ] == ["a", "b"]
    assert [
        answer.id
        for answer in find_results('[TOOL_RESULTS]{"content": 1, "call_id": "x"}[/TOOL_RESULTS]')
    ] == ["x"]
    assert find_results("<tool_response>a <tool_response>") == []


def test_a_result_made_from_its_call_is_answered_in_text() -> None:
    conversation = decode(request(("assistant", "[f(a=1)]")), "text")
    answer = conversation.calls()[0].result("fine")
    body = encode(
        replace(conversation, messages=(*conversation.messages, Message("tool", (answer,)))), "text"
    ).body
    assert content_of(body, 1) == '<tool_response>{"name":"f","content":"fine"}</tool_response>'
    pair = decode(body, "text").pairs()[0]
    assert isinstance(pair.result, Result)
    assert pair.how == "name"
