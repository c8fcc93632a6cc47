"""Tools in namespaces: definition, choice, call and result have one qualified name on every other
wire, and a namespace and a name on this one."""

from __future__ import annotations

import pytest
from cases import MODELS
from msgspec.structs import replace

from toolwire import Choice, Tool, check, cut, decode, encode, repair, translate
from toolwire.conversation.json import JSON, Object
from toolwire.wires.families.items.namespaces import join_name, plain_name, split_name

NAME = "openai-responses"
OVER = [name for name in MODELS if name != NAME]
CHOOSING = [name for name in OVER if name not in ("cohere", "ollama")]
"""Wires on which a choice can name a tool."""
SCHEMA: Object = {"type": "object", "properties": {}}
USER: Object = {"role": "user", "content": "Go."}


def tool(name: str, **more: JSON) -> Object:
    return {"type": "function", "name": name, "parameters": SCHEMA, "strict": None, **more}


def namespace(name: str, *tools: JSON, description: str = "") -> Object:
    return {"type": "namespace", "name": name, "description": description, "tools": list(tools)}


def call_item(name: JSON, within: JSON = None, id: str = "c1") -> Object:
    name_fields: Object = {"name": name} if within is None else {"name": name, "namespace": within}
    return {"type": "function_call", "call_id": id, **name_fields, "arguments": "{}"}


def output_item(id: str = "c1", **more: JSON) -> Object:
    return {"type": "function_call_output", "call_id": id, "output": "1", **more}


def request(*items: JSON, **settings: JSON) -> Object:
    return {"model": "m", "input": [USER, *items], **settings}


def value_at(body: JSON, *path: str | int) -> JSON:
    for step in path:
        body = body[step]  # type: ignore[index]
    return body


GET, PUT, FLAT = tool("get"), tool("put"), tool("flat")
CRM = namespace("crm", GET, PUT, description="CRM things")
ADDED: Object = {"type": "additional_tools", "role": "developer", "tools": [CRM, FLAT]}


@pytest.mark.parametrize(
    "body",
    [
        request(tools=[{**CRM, "x": 1}, FLAT]),
        {"model": "m", "input": [{**ADDED, "tools": [{**CRM, "x": 1}, FLAT]}, USER]},
    ],
)
@pytest.mark.parametrize("over", OVER)
def test_unknown_fields_of_a_namespace_are_reported_as_lost(body: Object, over: str) -> None:
    losses = [loss.pointer for loss in translate(body, NAME, over).losses]
    where = "/tools/0" if "tools" in body else "/input/0/tools/0"
    assert [pointer for pointer in losses if pointer.startswith(where)] == [
        f"{where}/description",
        f"{where}/x",
    ]


def test_a_namespace_stays_defined_when_its_item_is_removed() -> None:
    long: Object = {"role": "user", "content": "x" * 400}
    body: Object = {
        "model": "m",
        "input": [long, ADDED, {"role": "assistant", "content": "ok"}, USER],
    }
    short = cut(body, NAME, messages=1)
    assert value_at(short.body, "tools") == [CRM, FLAT]
    assert short.losses == []


def test_a_namespace_whose_item_is_removed_joins_another_of_its_name_and_its_description_is_reported() -> (
    None
):
    reply: Object = {"role": "assistant", "content": "ok"}
    body: Object = {
        "model": "m",
        "input": [USER, ADDED, reply, USER],
        "tools": [namespace("crm", tool("old"))],
    }
    short = cut(body, NAME, messages=1)
    assert value_at(short.body, "tools") == [namespace("crm", tool("old"), GET, PUT), FLAT]
    assert [loss.pointer for loss in short.losses] == ["/input/1/tools/0/description"]


@pytest.mark.parametrize("over", OVER)
def test_tools_choice_calls_and_results_survive_a_round_trip(over: str) -> None:
    tools: list[JSON] = [namespace("crm", GET, PUT), FLAT, namespace("erp", tool("list"))]
    choice: JSON = {"type": "function", "name": "get"} if over in CHOOSING else "auto"
    body = request(
        call_item("get", "crm"),
        output_item(),
        call_item("list", "erp", "c2"),
        output_item("c2"),
        tools=tools,
        tool_choice=choice,
    )
    translated = translate(body, NAME, over)
    assert [loss for loss in translated.losses if loss.path[0] == "tools" or over in CHOOSING] == []
    restored = translate(translated.body, over, NAME, ids=translated.ids.to_dict())
    assert value_at(restored.body, "input") == body["input"]
    assert value_at(restored.body, "tools") == tools
    assert over not in CHOOSING or value_at(restored.body, "tool_choice") == choice
    assert check(restored.body, NAME) == []


@pytest.mark.parametrize("over", CHOOSING)
def test_a_choice_of_a_tool_in_a_namespace_has_the_qualified_name_on_every_wire(over: str) -> None:
    translated = translate(
        request(tools=[CRM], tool_choice={"type": "function", "name": "get"}), NAME, over
    )
    choice = decode(translated.body, over).settings["choice"]
    assert isinstance(choice, Choice)
    assert [translated.ids.names.get(name, name) for name in choice.names] == ["crm::get"]


def test_a_choice_that_matches_two_namespaces_names_both_and_is_restored_as_one() -> None:
    body = request(
        tools=[namespace("crm", GET), namespace("erp", GET)],
        tool_choice={"type": "function", "name": "get"},
    )
    assert decode(body, NAME).settings["choice"] == Choice("required", ("crm::get", "erp::get"))
    translated = translate(body, NAME, "openai-chat")
    assert translate(translated.body, "openai-chat", NAME, ids=translated.ids).body == body


def test_a_choice_that_cannot_name_its_namespace_is_reported() -> None:
    read = decode(request(tools=[GET, namespace("crm", GET)], tool_choice="auto"), NAME)
    encoded = encode(
        replace(read, settings={**read.settings, "choice": Choice("required", ("crm::get",))}), NAME
    )
    assert value_at(encoded.body, "tool_choice") == {"type": "function", "name": "get"}
    assert [loss.pointer for loss in encoded.losses] == ["/tool_choice"]


def test_a_choice_of_a_tool_outside_of_all_namespaces_is_clear() -> None:
    body = request(
        tools=[GET, namespace("crm", GET)], tool_choice={"type": "function", "name": "get"}
    )
    translated = translate(body, NAME, "anthropic")
    restored = translate(translated.body, "anthropic", NAME, ids=translated.ids)
    assert (
        value_at(restored.body, "tool_choice"),
        value_at(restored.body, "tools"),
        restored.losses,
    ) == (body["tool_choice"], body["tools"], [])


def test_a_new_tool_joins_its_namespace() -> None:
    read = decode(request(tools=[CRM]), NAME)
    more = encode(replace(read, tools=(Tool("crm::new", schema=SCHEMA), *read.tools)), NAME)
    assert value_at(more.body, "tools") == [
        namespace("crm", tool("new"), GET, PUT, description="CRM things")
    ]


@pytest.mark.parametrize("offer", [[CRM], [GET, PUT]])
def test_a_removed_tool_is_not_written(offer: list[JSON]) -> None:
    read = decode(request(tools=offer), NAME)
    left = encode(replace(read, tools=read.tools[:1]), NAME)
    assert value_at(left.body, "tools") == ([{**CRM, "tools": [GET]}] if offer == [CRM] else [GET])
    assert left.losses == []


@pytest.mark.parametrize(
    "body",
    [
        request(tools=[namespace("crm", tool("get", defer_loading=True), PUT)]),
        request(tools=[tool("get", defer_loading=True), PUT]),
    ],
)
def test_an_edited_tool_keeps_the_fields_that_only_its_wire_has(body: Object) -> None:
    read = decode(body, NAME)
    edited = encode(
        replace(read, tools=(replace(read.tools[0], description="NEW"), *read.tools[1:])), NAME
    )
    edited_tool = tool("get", defer_loading=True, description="NEW")
    spaced = value_at(body, "tools", 0, "type") == "namespace"
    assert value_at(edited.body, "tools") == (
        [namespace("crm", edited_tool, PUT)] if spaced else [edited_tool, PUT]
    )


def test_an_edit_of_a_tool_in_an_item_changes_that_item() -> None:
    body: Object = {
        "model": "m",
        "input": [USER, ADDED, {"role": "assistant", "content": "ok"}, USER],
    }
    read = decode(body, NAME)
    left = encode(
        replace(read, tools=(read.tools[1], read.tools[2], Tool("crm::new", schema=SCHEMA))), NAME
    )
    assert value_at(left.body, "input", 1) == {
        **ADDED,
        "tools": [namespace("crm", PUT, description="CRM things"), FLAT],
    }
    assert value_at(left.body, "tools") == [namespace("crm", tool("new"))]


HISTORY: list[JSON] = [
    USER,
    {"role": "assistant", "content": "hm"},
    call_item("f"),
    call_item("f", id="c2"),
    output_item(),
    output_item("c2"),
    {"role": "assistant", "content": "so"},
    USER,
    {"role": "system", "content": "be brief"},
    USER,
]


@pytest.mark.parametrize("n", range(len(HISTORY) + 1))
def test_an_item_that_defines_tools_becomes_only_tool_definitions_on_other_wires(n: int) -> None:
    item: Object = {"type": "additional_tools", "role": "developer", "tools": [FLAT]}
    body: Object = {"model": "m", "input": [*HISTORY[:n], item, *HISTORY[n:]], "tools": [tool("f")]}
    for over in [*OVER, "mcp"]:
        plain = translate({**body, "input": HISTORY, "tools": [tool("f"), FLAT]}, NAME, over)
        translated = translate(body, NAME, over)
        assert translated.body == plain.body
        assert [loss.reason for loss in translated.losses] == [loss.reason for loss in plain.losses]
    read = decode(body, NAME)
    turned = replace(read, messages=(*read.messages, *decode(request(), NAME).messages))
    assert value_at(encode(turned, NAME).body, "input") == [*body["input"], USER]  # type: ignore[misc]


def test_of_an_item_that_defines_tools_only_the_lost_fields_are_reported() -> None:
    item: Object = {"type": "additional_tools", "id": "at_1", "role": "developer", "tools": [FLAT]}
    translated = translate({"model": "m", "input": [item, USER]}, NAME, "anthropic")
    assert [loss.pointer for loss in translated.losses] == ["/input/0/id"]
    broken = translate({"model": "m", "input": [{**item, "tools": [5]}, USER]}, NAME, "anthropic")
    assert [loss.pointer for loss in broken.losses] == ["/input/0"]


@pytest.mark.parametrize("over", OVER)
def test_a_plain_name_with_the_separator_is_restored_as_a_plain_name(over: str) -> None:
    body = request(
        call_item("srv::get"),
        output_item(),
        call_item("get", "srv", "c2"),
        output_item("c2"),
        tools=[tool("srv::get"), namespace("srv", GET)],
    )
    translated = translate(body, NAME, over)
    assert len({call.name for call in decode(translated.body, over).calls()}) == 2
    restored = translate(translated.body, over, NAME, ids=translated.ids.to_dict())
    assert value_at(restored.body, "input") == body["input"]
    assert value_at(restored.body, "tools") == body["tools"]


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


def test_every_namespace_and_name_have_a_unique_qualified_name() -> None:
    known = {plain_name(name): ("", name) for name in NAMES} | {
        join_name(first, second): (first, second) for first in NAMES for second in NAMES
    }
    assert len(known) == len(NAMES) + len(NAMES) ** 2
    assert {name: split_name(name) for name in known} == known
    assert (plain_name("get"), join_name("crm", "get")) == ("get", "crm::get")


@pytest.mark.parametrize(
    ("within", "name"), [(5, "f"), ({"a": 1}, "f"), ("crm", ""), ("crm", None), (["crm"], "f")]
)
def test_a_namespace_that_is_not_part_of_a_name_is_reported_as_lost(
    within: JSON, name: JSON
) -> None:
    body = request(call_item(name, within), output_item(name="f", namespace=5))
    losses = translate(body, NAME, "anthropic", repair=False).losses
    assert [loss.pointer for loss in losses] == ["/input/1/namespace", "/input/2/namespace"]
    assert encode(decode(body, NAME), NAME).body == body


def test_a_result_that_names_its_tool_without_the_namespace_is_of_the_same_tool() -> None:
    body = request(call_item("get", "crm"), output_item(name="get"))
    assert [result.name for result in decode(body, NAME).results()] == ["crm::get"]
    assert [
        pair.how
        for pair in decode(
            request(call_item("get", "crm"), output_item("", name="get")), NAME
        ).pairs()
    ] == ["name"]


WRONG = request(
    call_item("get it!", "c.m"),
    output_item(name="get it!", namespace="c.m"),
    tools=[namespace("c.m", tool("get it!"), tool("p" * 70))],
    tool_choice={"type": "function", "name": "get it!"},
)


def test_namespace_and_name_are_checked_separately() -> None:
    assert {(finding.name, finding.pointer) for finding in check(WRONG, NAME)} == {
        ("name-bad-charset", "/tools/0"),
        ("name-bad-charset", "/tools/0/tools/0"),
        ("name-too-long", "/tools/0/tools/1"),
    }
    body = request(call_item("get it!", "crm"), output_item())
    assert [(finding.name, finding.pointer) for finding in check(body, NAME)] == [
        ("name-bad-charset", "/input/1")
    ]


def test_repair_fits_namespace_and_name_everywhere() -> None:
    repaired = repair(WRONG, NAME)
    assert repaired.findings == []
    outer, inner = (
        value_at(repaired.body, "input", 1, "namespace"),
        value_at(repaired.body, "input", 1, "name"),
    )
    assert (
        value_at(repaired.body, "input", 2, "namespace"),
        value_at(repaired.body, "input", 2, "name"),
    ) == (outer, inner)
    assert (
        value_at(repaired.body, "tools", 0, "name"),
        value_at(repaired.body, "tools", 0, "tools", 0, "name"),
    ) == (outer, inner)
    assert value_at(repaired.body, "tool_choice", "name") == inner
    assert repair(repaired.body, NAME).body == repaired.body


def test_repair_fits_a_plain_name_with_the_separator() -> None:
    repaired = repair(request(call_item("a::b"), output_item(), tools=[tool("a::b")]), NAME)
    assert repaired.findings == []
    assert value_at(repaired.body, "tools", 0, "name") == value_at(
        repaired.body, "input", 1, "name"
    )


@pytest.mark.parametrize("over", OVER)
def test_a_required_choice_is_left_out_if_the_only_tool_has_no_name(over: str) -> None:
    translated = translate(
        request(tools=[{"type": "function", "parameters": SCHEMA}], tool_choice="required"),
        NAME,
        over,
    )
    assert "choice" not in decode(translated.body, over).settings
    assert {"/tools/0", "/tool_choice"} <= {loss.pointer for loss in translated.losses}
