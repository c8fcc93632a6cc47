"""Kinds of calls on wires of items: they come home from any other wire, and their results never
lose them."""

from __future__ import annotations

import pytest
from cases import MODELS, load
from judges import complaints
from msgspec.structs import replace
from rows import rows

from toolwire import Call, Conversation, Result, decode, encode, translate
from toolwire.conversation.json import JSON, Object
from toolwire.conversation.lazy_json import LazyJson

NAME = "openai-responses"
OVER = [name for name in MODELS if name != NAME]
PATCH: Object = {"type": "delete_file", "path": "a"}
CALL: Object = {
    "type": "apply_patch_call",
    "call_id": "c",
    "operation": PATCH,
    "status": "completed",
}
FAILED: Object = {
    "type": "apply_patch_call_output",
    "call_id": "c",
    "status": "failed",
    "output": "no",
}
SHELL: Object = {
    "type": "shell_call",
    "call_id": "c",
    "action": {"commands": ["ls"]},
    "status": "completed",
}
LOCAL: Object = {
    "type": "local_shell_call",
    "id": "lsh_1",
    "call_id": "call_1",
    "action": {"command": []},
    "status": "completed",
}


def request(*items: JSON) -> JSON:
    return {"model": "m", "input": [{"role": "user", "content": "Go."}, *items]}


def items_of(body: JSON) -> list[Object]:
    assert isinstance(body, dict)
    assert isinstance(body["input"], list)
    return [item for item in body["input"] if isinstance(item, dict)][1:]


def home(body: JSON, over: str, *, forgetful: bool = False) -> list[Object]:
    """The items after a trip over another wire."""
    there = translate(body, NAME, over, repair=False)  # what has no call would become text
    return items_of(
        translate(there.body, over, NAME, ids=None if forgetful else there.ids.to_dict()).body
    )


def kinds(body: JSON, wire: str) -> list[tuple[str, str, str, bool]]:
    conversation = decode(body, wire)
    calls = [(call.id, call.family, call.name, False) for call in conversation.calls()]
    return sorted(
        calls
        + [
            (result.call_id, result.family, result.text, result.error)
            for result in conversation.results()
        ]
    )


@pytest.mark.parametrize("over", OVER)
def test_an_item_of_which_all_is_understood_comes_home_as_it_was(over: str) -> None:
    assert home(request(CALL, FAILED), over) == [CALL, FAILED]


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("wire", [NAME, "azure-foundry"])
def test_every_kind_comes_home_and_is_valid_there(wire: str, over: str) -> None:
    body = next(case.body for case in load(wire) if case.name == "client-tools")
    there = translate(body, wire, over)
    back = translate(there.body, over, wire, ids=there.ids.to_dict()).body
    assert complaints(wire, back, "request") == complaints(wire, body, "request")
    # Where a tool message is text only, the picture stands apart.
    apart = over in ("openai-chat", "mistral", "cohere")
    screens = {kind for kind in kinds(body, wire) if kind[1] == "computer-use"}
    assert {kind for kind in kinds(body, wire) if kind not in kinds(back, wire)} == (
        screens if apart else set()
    )


def test_without_the_map_a_call_comes_home_as_a_function_and_so_does_its_result() -> None:
    assert [item["type"] for item in home(request(CALL, FAILED), "anthropic", forgetful=True)] == [
        "function_call",
        "function_call_output",
    ]


@pytest.mark.parametrize("over", OVER)
def test_a_result_whose_call_is_elsewhere_comes_home_as_its_kind(over: str) -> None:
    assert home(request(FAILED), over) == [FAILED]


@pytest.mark.parametrize("over", OVER)
def test_a_call_that_nobody_gave_an_id_comes_home_as_its_kind(over: str) -> None:
    bare = [
        {key: value for key, value in item.items() if key != "call_id"} for item in (CALL, FAILED)
    ]
    came = home(request(*bare), over)
    assert [(item["type"], item["status"]) for item in came] == [
        (item["type"], item["status"]) for item in bare
    ]


@pytest.mark.parametrize("over", OVER)
def test_a_kind_and_arguments_that_are_no_object_are_remembered_side_by_side(over: str) -> None:
    odd: Object = {**CALL, "operation": [1]}
    assert home(request(odd, FAILED), over)[0] == odd


@pytest.mark.parametrize("over", OVER)
def test_a_search_that_found_nothing_is_still_a_search(over: str) -> None:
    call: Object = {
        "type": "tool_search_call",
        "call_id": "c",
        "execution": "client",
        "arguments": {},
        "status": "completed",
    }
    found: Object = {
        "type": "tool_search_output",
        "call_id": "c",
        "execution": "client",
        "tools": [],
    }
    assert home(request(call, found), over) == [call, found]


def test_a_result_that_its_kind_cannot_hold_makes_both_a_function_call() -> None:
    there = translate(request(SHELL), NAME, "openai-chat")
    more = decode(there.body, "openai-chat")
    answered = replace(
        more,
        messages=(
            *more.messages,
            replace(more.messages[0], parts=(more.calls()[0].result("ok"),), role="tool"),
        ),
    )
    back = items_of(encode(answered, NAME, ids=there.ids).body)
    assert [item["type"] for item in back] == ["function_call", "function_call_output"]


def test_a_call_that_got_another_name_on_the_way_is_no_longer_of_its_kind() -> None:
    there = translate(request(CALL, FAILED), NAME, "anthropic")
    met = decode(there.body, "anthropic")
    call = met.calls()[0]
    back = items_of(encode(met.replace(call, replace(call, name="f")), NAME, ids=there.ids).body)
    assert [item["type"] for item in back] == ["function_call", "function_call_output"]


def test_a_wire_without_such_a_kind_takes_no_notice_of_it() -> None:
    there = translate(request(CALL, FAILED), NAME, "anthropic")
    assert (
        translate(there.body, "anthropic", "gemini", ids=there.ids).body
        == translate(there.body, "anthropic", "gemini").body
    )


# --- results that lean on a call ------------------------------------------------------------------


def edit(body: JSON, **changes: object) -> tuple[Conversation, Call]:
    conversation = decode(body, NAME)
    call = conversation.calls()[0]
    new = replace(call, **changes)
    return conversation.replace(call, new), new


@pytest.mark.parametrize("said", ["lsh_1", "call_1"])
@pytest.mark.parametrize(
    "changes", [{"name": "f"}, {"id": "call_9"}, {"args": LazyJson("{broken")}], ids=str
)
def test_a_local_shell_result_follows_its_call(said: str, changes: dict[str, object]) -> None:
    conversation, new = edit(
        request(LOCAL, {"type": "local_shell_call_output", "id": said, "output": "a"}), **changes
    )
    written = encode(conversation, NAME)
    assert written.losses == []
    assert items_of(written.body)[1] == {
        "type": "local_shell_call_output",
        "id": new.id,
        "output": "a",
    }
    pair = decode(written.body, NAME).pairs()[0]
    assert (pair.call and pair.call.id, pair.result and pair.result.text, pair.how) == (
        new.id,
        "a",
        "id",
    )


def test_a_local_shell_result_stays_to_the_letter_when_its_call_does_other_things() -> None:
    output: JSON = {"type": "local_shell_call_output", "id": "lsh_1", "output": "a"}
    conversation, _ = edit(request(LOCAL, output), args=LazyJson('{"command":["pwd"]}'))
    assert items_of(encode(conversation, NAME).body)[1] == output


LEANING: tuple[Object, ...] = (
    {"role": "tool", "name": "f", "content": "a"},
    {"type": "function_call_output", "name": "f", "output": "a"},
)
FUNCTION: Object = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize("result", LEANING, ids=str)
def test_a_result_that_names_its_tool_gets_the_new_name_of_its_call(result: JSON) -> None:
    assert isinstance(result, dict)
    written = encode(edit(request(FUNCTION, result), name="g")[0], NAME)
    assert (items_of(written.body)[1], written.losses) == ({**result, "name": "g"}, [])
    assert [pair.how for pair in decode(written.body, NAME).pairs()] == ["name"]


@rows("over", OVER)
@rows("result", [*LEANING, {"role": "tool", "content": "a"}])
@rows("changes", [{"name": "g"}, {"id": "c9"}, {"name": "g", "id": "c9"}])
def test_a_result_that_leans_on_an_edited_call_finds_it_on_every_other_wire(
    over: str, result: JSON, changes: dict[str, object]
) -> None:
    written = encode(edit(request(FUNCTION, result), **changes)[0], over)
    pairs = decode(written.body, over).pairs()
    assert [(pair.call and pair.call.name, pair.result and pair.result.text) for pair in pairs] == [
        (changes.get("name", "f"), "a")
    ]


def test_a_result_that_was_edited_itself_does_not_follow() -> None:
    conversation, _ = edit(request(FUNCTION, LEANING[0]), name="g")
    result = conversation.results()[0]
    assert isinstance(result, Result)
    kept = conversation.replace(result, replace(result, name="h"))
    assert items_of(encode(kept, NAME).body)[1] == {**LEANING[0], "name": "h"}
