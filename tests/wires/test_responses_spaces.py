"""Tools in namespaces: offered, chosen, called and answered under one name on every other wire, and
under two at home."""

from __future__ import annotations

import pytest
from cases import MODELS
from msgspec.structs import replace

from toolwire import Choice, Tool, check, cut, decode, encode, repair, translate
from toolwire.conversation.json import JSON, Object
from toolwire.wires.families.items.namespaces import plain_name, qualified_name, split_name

NAME = "openai-responses"
OVER = [name for name in MODELS if name != NAME]
CHOOSING = [name for name in OVER if name not in ("cohere", "ollama")]
"""Wires on which a choice can name a tool."""
SCHEMA: Object = {"type": "object", "properties": {}}
USER: Object = {"role": "user", "content": "Go."}


def tool(name: str, **more: JSON) -> Object:
    return {"type": "function", "name": name, "parameters": SCHEMA, "strict": None, **more}


def space(name: str, *tools: JSON, description: str = "") -> Object:
    return {"type": "namespace", "name": name, "description": description, "tools": list(tools)}


def asks(name: JSON, within: JSON = None, id: str = "c1") -> Object:
    named: Object = {"name": name} if within is None else {"name": name, "namespace": within}
    return {"type": "function_call", "call_id": id, **named, "arguments": "{}"}


def told(id: str = "c1", **more: JSON) -> Object:
    return {"type": "function_call_output", "call_id": id, "output": "1", **more}


def request(*items: JSON, **settings: JSON) -> Object:
    return {"model": "m", "input": [USER, *items], **settings}


def dig(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


GET, PUT, FLAT = tool("get"), tool("put"), tool("flat")
CRM = space("crm", GET, PUT, description="CRM things")
ADDED: Object = {"type": "additional_tools", "role": "developer", "tools": [CRM, FLAT]}


@pytest.mark.parametrize(
    "body",
    [
        request(tools=[{**CRM, "x": 1}, FLAT]),
        {"model": "m", "input": [{**ADDED, "tools": [{**CRM, "x": 1}, FLAT]}, USER]},
    ],
)
@pytest.mark.parametrize("over", OVER)
def test_what_a_namespace_says_beyond_its_tools_is_told_as_lost(body: Object, over: str) -> None:
    losses = [loss.pointer for loss in translate(body, NAME, over).losses]
    where = "/tools/0" if "tools" in body else "/input/0/tools/0"
    assert [pointer for pointer in losses if pointer.startswith(where)] == [
        f"{where}/description",
        f"{where}/x",
    ]


def test_a_namespace_whose_item_is_cut_off_is_offered_as_it_was() -> None:
    long: Object = {"role": "user", "content": "x" * 400}
    body: Object = {
        "model": "m",
        "input": [long, ADDED, {"role": "assistant", "content": "ok"}, USER],
    }
    short = cut(body, NAME, messages=1)
    assert dig(short.body, "tools") == [CRM, FLAT]
    assert short.losses == []


def test_a_namespace_whose_item_is_cut_off_joins_one_of_its_name_and_what_it_said_is_told() -> None:
    answered: Object = {"role": "assistant", "content": "ok"}
    body: Object = {
        "model": "m",
        "input": [USER, ADDED, answered, USER],
        "tools": [space("crm", tool("old"))],
    }
    short = cut(body, NAME, messages=1)
    assert dig(short.body, "tools") == [space("crm", tool("old"), GET, PUT), FLAT]
    assert [loss.pointer for loss in short.losses] == ["/input/1/tools/0/description"]


@pytest.mark.parametrize("over", OVER)
def test_there_and_back_tools_choice_calls_and_results_are_what_they_were(over: str) -> None:
    tools: list[JSON] = [space("crm", GET, PUT), FLAT, space("erp", tool("list"))]
    choice: JSON = {"type": "function", "name": "get"} if over in CHOOSING else "auto"
    body = request(
        asks("get", "crm"),
        told(),
        asks("list", "erp", "c2"),
        told("c2"),
        tools=tools,
        tool_choice=choice,
    )
    there = translate(body, NAME, over)
    assert [loss for loss in there.losses if loss.path[0] == "tools" or over in CHOOSING] == []
    back = translate(there.body, over, NAME, ids=there.ids.to_dict())
    assert dig(back.body, "input") == body["input"]
    assert dig(back.body, "tools") == tools
    assert over not in CHOOSING or dig(back.body, "tool_choice") == choice
    assert check(back.body, NAME) == []


@pytest.mark.parametrize("over", CHOOSING)
def test_a_choice_of_a_tool_in_a_namespace_means_the_tool_under_the_name_it_has_on_every_wire(
    over: str,
) -> None:
    there = translate(
        request(tools=[CRM], tool_choice={"type": "function", "name": "get"}), NAME, over
    )
    choice = decode(there.body, over).settings["choice"]
    assert isinstance(choice, Choice)
    assert [there.ids.names.get(name, name) for name in choice.names] == ["crm::get"]


def test_a_choice_that_could_be_of_two_namespaces_means_both_and_comes_home_as_one() -> None:
    body = request(
        tools=[space("crm", GET), space("erp", GET)],
        tool_choice={"type": "function", "name": "get"},
    )
    assert decode(body, NAME).settings["choice"] == Choice("required", ("crm::get", "erp::get"))
    there = translate(body, NAME, "openai-chat")
    assert translate(there.body, "openai-chat", NAME, ids=there.ids).body == body


def test_a_choice_that_cannot_say_its_namespace_is_told() -> None:
    read = decode(request(tools=[GET, space("crm", GET)], tool_choice="auto"), NAME)
    written = encode(
        replace(read, settings={**read.settings, "choice": Choice("required", ("crm::get",))}), NAME
    )
    assert dig(written.body, "tool_choice") == {"type": "function", "name": "get"}
    assert [loss.pointer for loss in written.losses] == ["/tool_choice"]


def test_a_choice_of_a_tool_outside_of_all_namespaces_is_clear() -> None:
    body = request(tools=[GET, space("crm", GET)], tool_choice={"type": "function", "name": "get"})
    there = translate(body, NAME, "anthropic")
    back = translate(there.body, "anthropic", NAME, ids=there.ids)
    assert (dig(back.body, "tool_choice"), dig(back.body, "tools"), back.losses) == (
        body["tool_choice"],
        body["tools"],
        [],
    )


def test_a_new_tool_joins_the_namespace_that_is_on_offer() -> None:
    read = decode(request(tools=[CRM]), NAME)
    more = encode(replace(read, tools=(Tool("crm::new", schema=SCHEMA), *read.tools)), NAME)
    assert dig(more.body, "tools") == [
        space("crm", tool("new"), GET, PUT, description="CRM things")
    ]


@pytest.mark.parametrize("offer", [[CRM], [GET, PUT]])
def test_a_tool_that_was_taken_out_does_not_come_back(offer: list[JSON]) -> None:
    read = decode(request(tools=offer), NAME)
    left = encode(replace(read, tools=read.tools[:1]), NAME)
    assert dig(left.body, "tools") == ([{**CRM, "tools": [GET]}] if offer == [CRM] else [GET])
    assert left.losses == []


@pytest.mark.parametrize(
    "body",
    [
        request(tools=[space("crm", tool("get", defer_loading=True), PUT)]),
        request(tools=[tool("get", defer_loading=True), PUT]),
    ],
)
def test_an_edited_tool_is_written_with_the_edit_and_all_that_only_its_wire_knows(
    body: Object,
) -> None:
    read = decode(body, NAME)
    edited = encode(
        replace(read, tools=(replace(read.tools[0], description="NEW"), *read.tools[1:])), NAME
    )
    now = tool("get", defer_loading=True, description="NEW")
    spaced = dig(body, "tools", 0, "type") == "namespace"
    assert dig(edited.body, "tools") == ([space("crm", now, PUT)] if spaced else [now, PUT])


def test_an_edit_of_tools_that_an_item_offers_is_made_in_that_item() -> None:
    body: Object = {
        "model": "m",
        "input": [USER, ADDED, {"role": "assistant", "content": "ok"}, USER],
    }
    read = decode(body, NAME)
    left = encode(
        replace(read, tools=(read.tools[1], read.tools[2], Tool("crm::new", schema=SCHEMA))), NAME
    )
    assert dig(left.body, "input", 1) == {
        **ADDED,
        "tools": [space("crm", PUT, description="CRM things"), FLAT],
    }
    assert dig(left.body, "tools") == [space("crm", tool("new"))]


HISTORY: list[JSON] = [
    USER,
    {"role": "assistant", "content": "hm"},
    asks("f"),
    asks("f", id="c2"),
    told(),
    told("c2"),
    {"role": "assistant", "content": "so"},
    USER,
    {"role": "system", "content": "be brief"},
    USER,
]


@pytest.mark.parametrize("n", range(len(HISTORY) + 1))
def test_an_item_that_offers_tools_is_to_other_wires_an_offer_and_nothing_else(n: int) -> None:
    item: Object = {"type": "additional_tools", "role": "developer", "tools": [FLAT]}
    body: Object = {"model": "m", "input": [*HISTORY[:n], item, *HISTORY[n:]], "tools": [tool("f")]}
    for over in [*OVER, "mcp"]:
        plain = translate({**body, "input": HISTORY, "tools": [tool("f"), FLAT]}, NAME, over)
        there = translate(body, NAME, over)
        assert there.body == plain.body
        assert [loss.reason for loss in there.losses] == [loss.reason for loss in plain.losses]
    read = decode(body, NAME)
    turned = replace(read, messages=(*read.messages, *decode(request(), NAME).messages))
    assert dig(encode(turned, NAME).body, "input") == [*body["input"], USER]  # type: ignore[misc]


def test_of_an_item_that_offers_tools_only_what_is_lost_is_told() -> None:
    item: Object = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [FLAT]}
    there = translate({"model": "m", "input": [item, USER]}, NAME, "anthropic")
    assert [loss.pointer for loss in there.losses] == ["/input/0/id"]
    broken = translate({"model": "m", "input": [{**item, "tools": [5]}, USER]}, NAME, "anthropic")
    assert [loss.pointer for loss in broken.losses] == ["/input/0"]


@pytest.mark.parametrize("over", OVER)
def test_a_plain_name_with_the_joint_in_it_comes_home_as_a_plain_name(over: str) -> None:
    body = request(
        asks("srv::get"),
        told(),
        asks("get", "srv", "c2"),
        told("c2"),
        tools=[tool("srv::get"), space("srv", GET)],
    )
    there = translate(body, NAME, over)
    assert len({call.name for call in decode(there.body, over).calls()}) == 2
    back = translate(there.body, over, NAME, ids=there.ids.to_dict())
    assert dig(back.body, "input") == body["input"]
    assert dig(back.body, "tools") == body["tools"]


NAMES = [
    "a",
    "b",
    "a::b",
    "::a",
    "a::",
    ":",
    "::",
    "a:",
    ":a",
    "%",
    "%3A",
    "a%3A%3Ab",
    "b::c",
    ":::",
]


def test_every_name_and_every_pair_of_names_is_known_by_a_name_of_its_own() -> None:
    known = {plain_name(name): ("", name) for name in NAMES} | {
        qualified_name(one, two): (one, two) for one in NAMES for two in NAMES
    }
    assert len(known) == len(NAMES) + len(NAMES) ** 2
    assert {name: split_name(name) for name in known} == known
    assert (plain_name("get"), qualified_name("crm", "get")) == ("get", "crm::get")


@pytest.mark.parametrize(
    ("within", "name"), [(5, "f"), ({"a": 1}, "f"), ("crm", ""), ("crm", None), (["crm"], "f")]
)
def test_a_namespace_that_is_part_of_no_name_is_told_as_lost(within: JSON, name: JSON) -> None:
    body = request(asks(name, within), told(name="f", namespace=5))
    losses = translate(body, NAME, "anthropic", repair=False).losses
    assert [loss.pointer for loss in losses] == ["/input/1/namespace", "/input/2/namespace"]
    assert encode(decode(body, NAME), NAME).body == body


def test_a_result_that_names_its_tool_without_the_namespace_is_of_the_same_tool() -> None:
    body = request(asks("get", "crm"), told(name="get"))
    assert [result.name for result in decode(body, NAME).results()] == ["crm::get"]
    assert [
        pair.how for pair in decode(request(asks("get", "crm"), told("", name="get")), NAME).pairs()
    ] == ["name"]


WRONG = request(
    asks("get it!", "c.m"),
    told(name="get it!", namespace="c.m"),
    tools=[space("c.m", tool("get it!"), tool("p" * 70))],
    tool_choice={"type": "function", "name": "get it!"},
)


def test_each_of_the_names_of_a_tool_in_a_namespace_is_held_against_the_rule() -> None:
    assert {(found.name, found.pointer) for found in check(WRONG, NAME)} == {
        ("name-bad-charset", "/tools/0"),
        ("name-bad-charset", "/tools/0/tools/0"),
        ("name-too-long", "/tools/0/tools/1"),
    }
    alone = request(asks("get it!", "crm"), told())
    assert [(found.name, found.pointer) for found in check(alone, NAME)] == [
        ("name-bad-charset", "/input/1")
    ]


def test_repair_fits_each_of_the_names_wherever_it_stands() -> None:
    mended = repair(WRONG, NAME)
    assert mended.findings == []
    outer, inner = dig(mended.body, "input", 1, "namespace"), dig(mended.body, "input", 1, "name")
    assert (dig(mended.body, "input", 2, "namespace"), dig(mended.body, "input", 2, "name")) == (
        outer,
        inner,
    )
    assert (
        dig(mended.body, "tools", 0, "name"),
        dig(mended.body, "tools", 0, "tools", 0, "name"),
    ) == (outer, inner)
    assert dig(mended.body, "tool_choice", "name") == inner
    assert repair(mended.body, NAME).body == mended.body


def test_repair_fits_a_plain_name_with_the_joint_in_it() -> None:
    mended = repair(request(asks("a::b"), told(), tools=[tool("a::b")]), NAME)
    assert mended.findings == []
    assert dig(mended.body, "tools", 0, "name") == dig(mended.body, "input", 1, "name")


@pytest.mark.parametrize("over", OVER)
def test_a_demand_for_a_call_is_left_out_where_the_only_tool_has_no_name(over: str) -> None:
    there = translate(
        request(tools=[{"type": "function", "parameters": SCHEMA}], tool_choice="required"),
        NAME,
        over,
    )
    assert "choice" not in decode(there.body, over).settings
    assert {"/tools/0", "/tool_choice"} <= {loss.pointer for loss in there.losses}
