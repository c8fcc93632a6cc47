"""Item types of calls: they are restored from any other wire, together with those of their results."""

from __future__ import annotations

import pytest
from cases import MODELS, load
from msgspec.structs import replace
from rows import rows
from validators import complaints

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


def items_after_round_trip(body: JSON, over: str, *, forgetful: bool = False) -> list[Object]:
    """The items after a trip over another wire."""
    translated = translate(body, NAME, over, repair=False)  # what has no call would become text
    return items_of(
        translate(
            translated.body, over, NAME, ids=None if forgetful else translated.ids.to_dict()
        ).body
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
def test_an_item_whose_fields_are_all_known_survives_a_round_trip(over: str) -> None:
    assert items_after_round_trip(request(CALL, FAILED), over) == [CALL, FAILED]


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("wire", [NAME, "azure-foundry"])
def test_every_item_type_survives_a_round_trip_and_is_valid_on_the_other_wire(
    wire: str, over: str
) -> None:
    body = next(case.body for case in load(wire) if case.name == "client-tools")
    translated = translate(body, wire, over)
    written_body = translate(translated.body, over, wire, ids=translated.ids.to_dict()).body
    assert complaints(wire, written_body, "request") == complaints(wire, body, "request")
    # Where a tool message is text only, the image follows in another message.
    media_follow = over in ("openai-chat", "mistral", "cohere")
    screens = {kind for kind in kinds(body, wire) if kind[1] == "computer-use"}
    assert {kind for kind in kinds(body, wire) if kind not in kinds(written_body, wire)} == (
        screens if media_follow else set()
    )


def test_without_the_id_map_a_call_and_its_result_return_as_a_function_call() -> None:
    assert [
        item["type"]
        for item in items_after_round_trip(request(CALL, FAILED), "anthropic", forgetful=True)
    ] == ["function_call", "function_call_output"]


@pytest.mark.parametrize("over", OVER)
def test_a_result_without_its_call_is_restored_with_its_item_type(over: str) -> None:
    assert items_after_round_trip(request(FAILED), over) == [FAILED]


@pytest.mark.parametrize("over", OVER)
def test_a_call_without_an_id_is_restored_with_its_item_type(over: str) -> None:
    bare = [
        {key: value for key, value in item.items() if key != "call_id"} for item in (CALL, FAILED)
    ]
    items = items_after_round_trip(request(*bare), over)
    assert [(item["type"], item["status"]) for item in items] == [
        (item["type"], item["status"]) for item in bare
    ]


@pytest.mark.parametrize("over", OVER)
def test_the_item_type_and_non_object_arguments_are_both_restored(over: str) -> None:
    broken_call: Object = {**CALL, "operation": [1]}
    assert items_after_round_trip(request(broken_call, FAILED), over)[0] == broken_call


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
    assert items_after_round_trip(request(call, found), over) == [call, found]


def test_a_result_that_its_kind_cannot_hold_makes_both_a_function_call() -> None:
    translated = translate(request(SHELL), NAME, "openai-chat")
    more = decode(translated.body, "openai-chat")
    edited = replace(
        more,
        messages=(
            *more.messages,
            replace(more.messages[0], parts=(more.calls()[0].result("ok"),), role="tool"),
        ),
    )
    items = items_of(encode(edited, NAME, ids=translated.ids).body)
    assert [item["type"] for item in items] == ["function_call", "function_call_output"]


def test_a_call_renamed_on_the_other_wire_becomes_a_function_call() -> None:
    translated = translate(request(CALL, FAILED), NAME, "anthropic")
    met = decode(translated.body, "anthropic")
    call = met.calls()[0]
    items = items_of(
        encode(met.replace(call, replace(call, name="f")), NAME, ids=translated.ids).body
    )
    assert [item["type"] for item in items] == ["function_call", "function_call_output"]


def test_a_wire_without_the_item_type_ignores_it() -> None:
    translated = translate(request(CALL, FAILED), NAME, "anthropic")
    back = translate(translated.body, "anthropic", "gemini", ids=translated.ids).body
    plain = translate(translated.body, "anthropic", "gemini").body
    assert isinstance(back, dict) and isinstance(plain, dict)
    assert plain.pop("generationConfig") == {"maxOutputTokens": 4096}  # only Anthropic requires it
    assert back == plain


# --- results that lean on a call ------------------------------------------------------------------


def edit(body: JSON, **changes: object) -> tuple[Conversation, Call]:
    conversation = decode(body, NAME)
    call = conversation.calls()[0]
    new = replace(call, **changes)
    return conversation.replace(call, new), new


@pytest.mark.parametrize("text", ["lsh_1", "call_1"])
@pytest.mark.parametrize(
    "changes", [{"name": "f"}, {"id": "call_9"}, {"args": LazyJson("{broken")}], ids=str
)
def test_a_local_shell_result_follows_its_call(text: str, changes: dict[str, object]) -> None:
    conversation, new = edit(
        request(LOCAL, {"type": "local_shell_call_output", "id": text, "output": "a"}), **changes
    )
    encoded = encode(conversation, NAME)
    assert encoded.losses == []
    assert items_of(encoded.body)[1] == {
        "type": "local_shell_call_output",
        "id": new.id,
        "output": "a",
    }
    pair = decode(encoded.body, NAME).pairs()[0]
    assert (pair.call and pair.call.id, pair.result and pair.result.text, pair.how) == (
        new.id,
        "a",
        "id",
    )


def test_a_local_shell_result_stays_verbatim_when_its_call_is_edited() -> None:
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
    encoded = encode(edit(request(FUNCTION, result), name="g")[0], NAME)
    assert (items_of(encoded.body)[1], encoded.losses) == ({**result, "name": "g"}, [])
    assert [pair.how for pair in decode(encoded.body, NAME).pairs()] == ["name"]


@rows("over", OVER)
@rows("result", [*LEANING, {"role": "tool", "content": "a"}])
@rows("changes", [{"name": "g"}, {"id": "c9"}, {"name": "g", "id": "c9"}])
def test_the_result_of_an_edited_call_is_paired_on_every_other_wire(
    over: str, result: JSON, changes: dict[str, object]
) -> None:
    encoded = encode(edit(request(FUNCTION, result), **changes)[0], over)
    pairs = decode(encoded.body, over).pairs()
    assert [(pair.call and pair.call.name, pair.result and pair.result.text) for pair in pairs] == [
        (changes.get("name", "f"), "a")
    ]


def test_a_result_that_was_edited_itself_does_not_follow() -> None:
    conversation, _ = edit(request(FUNCTION, LEANING[0]), name="g")
    result = conversation.results()[0]
    assert isinstance(result, Result)
    kept = conversation.replace(result, replace(result, name="h"))
    assert items_of(encode(kept, NAME).body)[1] == {**LEANING[0], "name": "h"}
