"""The offline model: the calls that it finds in a question, and that the same conversation always
gets the same response."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from growth import GROWTH_LIMIT, growth
from hypothesis import given, settings
from hypothesis import strategies as st
from mock.tools import CITY, numbers
from msgspec.structs import replace

from toolwire import Call, Conversation, Message, Reasoning, Text, Tool, decode, encode, translate
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.model import Choice
from toolwire.mock.demo_model import DIRECTIVES, answer, demo_answer

TEXT: Object = {"type": "string"}
TOOLS = (
    Tool("Calculator_Add", "Adds two numbers", numbers("a", "b")),
    Tool("Calculator_Multiply", "Multiplies two numbers", numbers("a", "b")),
    Tool("get_weather", "Current weather of a city", CITY),
    Tool(
        "sendEmail",
        "Sends a letter",
        {
            "type": "object",
            "properties": {"to": TEXT, "subject": TEXT, "body": TEXT},
            "required": ["to", "body"],
        },
    ),
    Tool(
        "search_docs",
        "Full text search in all pages of the handbook",
        {
            "type": "object",
            "properties": {"query": TEXT, "limit": {"type": "integer"}},
            "required": ["query"],
        },
    ),
    Tool("ring_doorbell", "Rings", {"type": "object", "properties": {}}),
    Tool("square", None, numbers("n")),
    Tool(
        "book_train",
        None,
        {
            "type": "object",
            "properties": {"origin": TEXT, "destination": TEXT},
            "required": ["origin", "destination"],
        },
    ),
    Tool(
        "average",
        None,
        {
            "type": "object",
            "properties": {"values": {"type": "array", "items": {"type": "number"}}},
            "required": ["values"],
        },
    ),
)

ASKED: dict[str, list[tuple[str, Object]]] = {
    "add 1 and 2, and add 3 and 4": [
        ("Calculator_Add", {"a": 1, "b": 2}),
        ("Calculator_Add", {"a": 3, "b": 4}),
    ],
    "What is 2.5 plus -3?": [("Calculator_Add", {"a": 2.5, "b": -3})],
    "Calculator_Multiply a=6 b=7": [("Calculator_Multiply", {"a": 6, "b": 7})],
    "weather in Oslo and Rome": [
        ("get_weather", {"city": "Oslo"}),
        ("get_weather", {"city": "Rome"}),
    ],
    "What's the weather like in New York, San Francisco and Oslo in celsius?": [
        ("get_weather", {"city": city, "unit": "celsius"})
        for city in ("New York", "San Francisco", "Oslo")
    ],
    "get the weather in oslo": [("get_weather", {"city": "oslo"})],
    "What is the weather in Paris and what is 7 times 6?": [
        ("get_weather", {"city": "Paris"}),
        ("Calculator_Multiply", {"a": 7, "b": 6}),
    ],
    'sendEmail to: bob@example.org body: "hi there"': [
        ("sendEmail", {"to": "bob@example.org", "body": "hi there"})
    ],
    "search docs for python asyncio limit=3": [
        ("search_docs", {"query": "python asyncio", "limit": 3})
    ],
    "please ring the doorbell": [("ring_doorbell", {})],
    "square 2, 3 and 4": [("square", {"n": 2}), ("square", {"n": 3}), ("square", {"n": 4})],
    "Book a train from Oslo to Bergen": [
        ("book_train", {"origin": "Oslo", "destination": "Bergen"})
    ],
    "average of 1, 2 and 6": [("average", {"values": [1, 2, 6]})],
    'which pages of the handbook speak of "ids"?': [("search_docs", {"query": "ids"})],
    "hello there": [],
    "": [],
}


def conversation(
    question: str, wire: str = "openai-chat", tools: tuple[Tool, ...] = TOOLS
) -> Conversation:
    return Conversation((Message("user", (Text(question),)),), tools, {}, wire)


def calls(message: Message) -> list[tuple[str, JSON]]:
    return [(part.name, part.input) for part in message.parts if isinstance(part, Call)]


def words(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, Text))


def after(talk: Conversation, message: Message, *outputs: JSON) -> Conversation:
    """The conversation with an answer, and results for its calls."""
    asked = [part for part in message.parts if isinstance(part, Call)]
    results = tuple(call.result(output) for call, output in zip(asked, outputs, strict=True))
    return replace(talk, messages=(*talk.messages, message, Message("tool", results)))


@pytest.mark.parametrize("question", ASKED)
def test_a_question_in_plain_words_is_read_as_calls_of_the_tools_on_offer(question: str) -> None:
    assert calls(answer(conversation(question))) == ASKED[question]


def test_then_begins_a_turn_whose_calls_take_the_results_of_the_last() -> None:
    talk = conversation("add 1 and 2, and add 3 and 4, then multiply the results, then square it")
    first = answer(talk)
    assert calls(first) == [
        ("Calculator_Add", {"a": 1, "b": 2}),
        ("Calculator_Add", {"a": 3, "b": 4}),
    ]
    talk = after(talk, first, 3, "the sum is 7")
    second = answer(talk)
    assert calls(second) == [("Calculator_Multiply", {"a": 3, "b": 7})]
    talk = after(talk, second, {"product": 21})
    third = answer(talk)
    assert calls(third) == [("square", {"n": 21})]
    assert words(answer(after(talk, third, 441))).splitlines() == [
        "Calculator_Add(a=1, b=2) gave: 3",
        "Calculator_Add(a=3, b=4) gave: the sum is 7",
        'Calculator_Multiply(a=3, b=7) gave: {"product":21}',
        "square(n=21) gave: 441",
    ]


def test_every_result_is_quoted_under_its_own_call_also_if_they_came_in_another_order() -> None:
    talk = conversation("weather in Oslo and Rome")
    message = answer(talk)
    oslo, rome = (part for part in message.parts if isinstance(part, Call))
    talk = replace(
        talk,
        messages=(
            *talk.messages,
            message,
            Message("tool", (rome.result("hot"), oslo.result("cold", error=True))),
        ),
    )
    assert words(answer(talk)).splitlines() == [
        'get_weather(city="Oslo") failed: cold',
        'get_weather(city="Rome") gave: hot',
    ]


def test_a_new_question_after_results_is_a_new_beginning() -> None:
    talk = conversation("weather in Oslo")
    talk = after(talk, answer(talk), "cold")
    talk = replace(
        talk, messages=(*talk.messages, answer(talk), Message("user", (Text("ring the doorbell"),)))
    )
    assert calls(answer(talk)) == [("ring_doorbell", {})]


def test_a_number_that_no_float_can_hold_is_the_largest_one() -> None:
    schema: Object = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
    for text, number in (("1e400", 1), ("-1e400", -1), ("01e400", 1)):
        talk = conversation(f"add {text}", tools=(Tool("add", None, schema),))
        assert calls(answer(talk)) == [("add", {"a": number * sys.float_info.max})]


def test_an_argument_that_must_be_there_and_is_not_is_asked_for() -> None:
    assert words(answer(conversation("add 5"))) == "To call Calculator_Add I need: b."


def test_a_choice_of_tools_is_kept_to() -> None:
    talk = conversation("hello")
    assert calls(
        answer(replace(talk, settings={"choice": Choice("required", ("ring_doorbell",))}))
    ) == [("ring_doorbell", {})]
    assert (
        calls(
            answer(replace(conversation("ring the doorbell"), settings={"choice": Choice("none")}))
        )
        == []
    )


def test_one_call_at_a_time_is_made_if_the_request_wants_it_so() -> None:
    talk = replace(conversation("square 2 and 3"), settings={"parallel": False})
    first = answer(talk)
    assert calls(first) == [("square", {"n": 2})]
    talk = after(talk, first, 4)
    second = answer(talk)
    assert calls(second) == [("square", {"n": 3})]
    assert words(answer(after(talk, second, 9))).splitlines() == [
        "square(n=2) gave: 4",
        "square(n=3) gave: 9",
    ]


def test_a_long_result_is_quoted_whole_and_a_huge_one_by_its_beginning() -> None:
    talk = conversation("ring the doorbell")
    message = answer(talk)
    assert "x" * 1700 in words(answer(after(talk, message, "x" * 1700)))
    assert words(answer(after(talk, message, "x" * 50_000))).endswith("… (50000 characters)")


# --- scripts --------------------------------------------------------------------------------------


def test_a_script_is_followed_exactly_and_may_use_results() -> None:
    talk = conversation(
        '[[think hm]] [[call f {"x": "]]"}]] [[call g {}]] [[then]] [[call h {"sum": ["$1",'
        ' "$2"]}]] [[then]] [[text done]]'
    )
    first = answer(talk)
    assert first.parts[0] == Reasoning("hm")
    assert calls(first) == [("f", {"x": "]]"}), ("g", {})]
    talk = after(talk, first, 1, {"two": 2})
    second = answer(talk)
    assert calls(second) == [("h", {"sum": [1, {"two": 2}]})]
    assert words(answer(after(talk, second, "3"))) == "done"


def test_what_looks_like_a_directive_and_is_none_is_words() -> None:
    assert (
        words(answer(conversation("[[dance]] [[call f {]]", tools=())))
        == "You said: [[dance]] [[call f {]]"
    )


def test_calls_repeat_one_id_on_request_and_their_arguments_break_off_on_request() -> None:
    talk = conversation("[[repeat-id]] square 2 and 3")
    message = answer(talk)
    ids = {part.id for part in message.parts if isinstance(part, Call)}
    assert len(ids) == 1
    again = answer(
        replace(
            talk,
            messages=(
                *talk.messages,
                message,
                Message("user", (Text("[[repeat-id]] square 2 and 3"),)),
            ),
        )
    )
    assert {part.id for part in again.parts if isinstance(part, Call)} == ids
    broken = [
        part
        for part in answer(conversation("[[broken-json]] square 2")).parts
        if isinstance(part, Call)
    ]
    assert [call.args.broken for call in broken] == [True]


def test_the_directive_never_stop_makes_the_model_call_without_end() -> None:
    talk = conversation("[[never-stop]] square 2")
    ids: set[str] = set()
    for _ in range(5):
        message = answer(talk)
        assert calls(message) == [("square", {"n": 2})]
        ids |= {part.id for part in message.parts if isinstance(part, Call)}
        talk = after(talk, message, 4)
    assert len(ids) == 5


def test_an_undefined_tool_is_called_on_request_and_only_once() -> None:
    talk = conversation("[[unknown-tool]]")
    message = answer(talk)
    assert calls(message) == [("no_such_tool", {})]
    assert (
        words(answer(after(talk, message, "no such tool"))) == "no_such_tool() gave: no such tool"
    )


def test_the_delivery_of_an_answer_is_a_field_beside_it() -> None:
    given = demo_answer(conversation("[[error 429 2]] [[slow 0.5]] [[cut]] hello"))
    assert (given.status, given.times, given.pause, given.cut) == (429, 2, 0.5, True)
    assert len(words(answer(conversation("[[size 5000]] [[text hello]]")))) == 5000


@pytest.mark.parametrize("word", DIRECTIVES)
def test_every_directive_changes_the_answer(word: str) -> None:
    takes = {
        "call": 'square {"n": 9}',
        "text": "bye",
        "think": "hm",
        "error": "500",
        "slow": "0.1",
        "size": "99",
    }
    plain = conversation("square 2 and 3")
    told = conversation(f"[[{word} {takes.get(word, '')}]] square 2 and 3")
    if word in ("size", "never-stop", "then"):  # those are about what follows the calls
        script = '[[call square {"n": 1}]] '
        plain, told = (
            conversation(f"{script}square"),
            conversation(f"{script}[[{word} {takes.get(word, '')}]] [[text x]]"),
        )
        plain, told = (after(one, answer(one), 4) for one in (plain, told))
    assert repr(demo_answer(told)) != repr(demo_answer(plain))


# --- text instead of calls ------------------------------------------------------------------------


def test_calls_are_written_as_text_and_results_in_text_are_read_again() -> None:
    talk = conversation("[[say-as-text]] add 1 and 2, then square the result")
    message = answer(talk)
    assert calls(message) == [] and '"name":"Calculator_Add"' in words(message)
    told = Message(
        "user", (Text('<tool_response>{"name": "Calculator_Add", "content": "3"}</tool_response>'),)
    )
    talk = replace(talk, messages=(*talk.messages, message, told))
    second = answer(talk)
    assert '"arguments":{"n":3}' in words(second)
    told = Message(
        "user",
        (
            Text(
                'The results:\n<tool_response>{"name": "square", "content":'
                ' "9"}</tool_response>\nGo on.'
            ),
        ),
    )
    talk = replace(talk, messages=(*talk.messages, second, told))
    assert words(answer(talk)).splitlines() == [
        "Calculator_Add(a=1, b=2) gave: 3",
        "square(n=3) gave: 9",
    ]


def test_tools_that_only_a_system_prompt_offers_are_called_in_text() -> None:
    offer = json.dumps({"name": "square", "parameters": numbers("n")})
    system = f"<tools>\n{offer}\n</tools>"
    body: JSON = {
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": "square 4"}]
    }
    assert '"arguments":{"n":4}' in words(answer(decode(body, "openai-chat")))
    assert calls(answer(decode(body, "text"))) == [("square", {"n": 4})]


# --- any question ---------------------------------------------------------------------------------

SAYABLE = st.sampled_from(
    [
        "add",
        "1",
        "2.5",
        "1e400",
        "007",
        "and",
        ",",
        "then",
        "the result",
        "Oslo",
        "in",
        "=",
        "a=",
        "{",
        "]",
        '"',
        "[[",
        "]]",
        "[[call",
        "[[text",
        "x]]",
        "<tool_call>",
        "\n",
        "\u0663",
        "\u00b2",
        '{"a":1}',
        "[NaN]",
        "\U0001f600",
        "[[slow",
        "[[size 9]]",
        "[[error",
    ]
)
FIELDS = st.sampled_from(
    [
        {"type": "string"},
        {"type": "number"},
        {"type": "integer"},
        {"type": "boolean"},
        {"type": "array"},
        {"type": "object"},
        {"type": 7},
        {"type": ["null", "integer"]},
        {"enum": ["x", 1, None]},
        {"anyOf": [{"type": "null"}, {"type": "number"}]},
        True,
        {},
    ]
)
SCHEMAS = st.dictionaries(st.sampled_from(["a", "city", "n.x", "("]), FIELDS, max_size=3).map(
    lambda fields: {"type": "object", "properties": fields, "required": [*fields][:2]}
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(SAYABLE | st.text(max_size=4), max_size=12).map(" ".join),
    st.lists(
        st.tuples(
            st.sampled_from(["Calculator_Add", "f", "", "a.b/c"]),
            SCHEMAS | st.sampled_from([None, [1], {"required": 3}]),
        ),
        max_size=3,
    ),
    st.sampled_from(["openai-chat", "anthropic", "gemini", "text", "mistral"]),
)
def test_any_question_with_any_tools_gets_an_answer_that_every_wire_can_carry(
    question: str, tools: list[tuple[str, JSON]], wire: str
) -> None:
    talk = conversation(question, wire, tuple(Tool(name, None, schema) for name, schema in tools))
    for _ in range(2):
        message = answer(talk)
        encode(Conversation((message,), (), {}, "", "response"), wire, "response").json()
        asked = [part for part in message.parts if isinstance(part, Call)]
        outputs: list[JSON] = [[1, {"a": "5"}] for _ in asked]
        talk = after(talk, message, *outputs)


@pytest.mark.parametrize(
    "question",
    [
        "add 1 and ",
        "weather in Oslo, ",
        "[[call f {",
        '"',
        "then ",
        "weather in A-",
        "<tool_call>{",
    ],
)
def test_a_question_of_four_times_the_length_takes_about_four_times_as_long(question: str) -> None:
    count = 5_000 // len(question)
    questions = [conversation(question * n) for n in (count, 4 * count)]
    assert growth(*(lambda asked=asked: answer(asked) for asked in questions)) < GROWTH_LIMIT


# --- deterministic --------------------------------------------------------------------------------


def test_the_same_conversation_gets_the_same_answer_in_another_process() -> None:
    code = (
        "from toolwire.mock.demo_model import answer; from toolwire import Conversation, Message, Text,"
        " Tool;print([p.id for p in answer(Conversation((Message('user', (Text('square 2 and"
        " 3'),)),),(Tool('square', None, {'properties': {'n': {'type': 'number'}}, 'required':"
        " ['n']}),), {}, 'anthropic')).parts])"
    )
    source = str(Path(__file__).parents[2] / "src")
    said_there = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": source},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said_there) == 1 and "toolu_01" in said_there.pop()


def test_no_two_calls_of_a_conversation_have_one_id_even_where_ids_only_count() -> None:
    for profile in ("kimi", "mistral", "openai-chat", "gemini"):
        talk = conversation("square 2 and 3 and 4")
        seen: list[str] = []
        for _ in range(4):
            message = answer(talk, id_profile=profile)
            seen += [part.id for part in message.parts if isinstance(part, Call)]
            talk = after(talk, message, 1, 2, 3)
            talk = replace(
                talk, messages=(*talk.messages, Message("user", (Text("square 2 and 3 and 4"),)))
            )
        kept = replace(
            talk, messages=talk.messages[-4:]
        )  # a history that was cut starts to count from one
        message = answer(kept, id_profile=profile)
        seen_there = [part.id for part in kept.parts() if isinstance(part, Call)]
        assert len(set(seen)) == 12
        assert not {part.id for part in message.parts if isinstance(part, Call)} & set(seen_there)


def test_a_conversation_without_a_word_of_the_user_is_answered_too() -> None:
    assert words(answer(Conversation((), (), {}, "openai-chat"))) == "You said: "


def test_a_directive_that_names_no_tool_calls_one_that_is_not_defined() -> None:
    message = answer(conversation("[[call ]]"))
    assert calls(message) == [("no_such_tool", {})]


def test_a_program_that_does_not_close_its_model_ends_without_a_traceback() -> None:
    program = (
        "import asyncio\n"
        "from toolwire import Agent\n"
        "async def main():\n"
        "    print((await Agent('demo:').run('[[text Hello.]]')).text)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=600)
    assert (done.stdout, done.stderr) == (b"Hello.\n", b"")


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "gemini"])
def test_what_a_translation_moves_to_a_user_is_no_question(target: str) -> None:
    image: Object = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    block: Object = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    result: Object = {"type": "tool_result", "tool_use_id": "toolu_1"}
    messages: list[JSON] = [
        {"role": "user", "content": "[[call look {}]] [[then]] [[text Seen.]]"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": [block]},
        {"role": "user", "content": [{**result, "content": [{"type": "image", "source": image}]}]},
    ]
    tools: list[JSON] = [{"name": "look", "input_schema": {"type": "object"}}]
    body: Object = {"model": "claude-opus-5", "max_tokens": 99, "tools": tools}
    said: list[str] = []
    for length in (2, 4):
        history = translate({**body, "messages": messages[:length]}, "anthropic", target)
        part = answer(decode(history.body, target)).parts[-1]
        assert isinstance(part, Call | Text)
        said.append(part.name if isinstance(part, Call) else part.text)
    assert said == ["look", "Seen."]
