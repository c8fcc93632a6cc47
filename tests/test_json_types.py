"""Values of a wrong JSON type: they are read if their meaning is certain, found by `check`, and
corrected by `repair`. `encode` returns them verbatim."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from breaks import SHAPES
from cases import CASES, MODELS, Case, nodes, set_at
from growth import GROWTH_LIMIT, growth
from hand_made_histories import history_body
from rows import rows

from toolwire import Conversation, DecodeError, check, decode, encode, repair, translate
from toolwire.conversation.json import JSON, JsonPath, Object, get

SMALL = [
    case
    for case in CASES
    if case.kind == "request" and case.wire in MODELS and len(json.dumps(case.body)) < 4000
]


def number(items: list[JSON]) -> JSON:
    """A list as PHP writes one with gaps, and JavaScript an object of indexes."""
    return {str(2 * n): item for n, item in enumerate(items)}


def omit(items: list[JSON]) -> JSON:
    return items[0] if len(items) == 1 else items


FORMS: dict[str, Callable[[list[JSON]], JSON]] = {
    "one-element-without-its-list": omit,
    "an-object-of-indexes": number,
    "json-text": json.dumps,
    "a-list-in-a-list": lambda items: [items],
    "null-among-the-elements": lambda items: [None, *items, None],
}


def lists_of_objects(body: JSON) -> list[JsonPath]:
    """The paths of the lists of messages, blocks and calls; those of texts and schemas differ."""
    return [
        path
        for path in nodes(body)
        if 0 < len(path) < 5
        and isinstance(items := get(body, path), list)
        and items
        and all(isinstance(item, dict) for item in items)
    ]


def pairs_of(conversation: Conversation) -> list[tuple[object, ...]]:
    return [
        (
            pair.call and (pair.call.id, pair.call.name, pair.call.args.canonical),
            pair.result and (pair.result.call_id, pair.result.text),
            pair.how,
        )
        for pair in conversation.pairs()
    ]


def corrected(case: Case, form: str) -> Iterator[tuple[JsonPath, JSON]]:
    """The bodies of a case with one list in another form that its reader corrects."""
    for path in lists_of_objects(case.body):
        body = set_at(case.body, path, FORMS[form](get(case.body, path)))  # type: ignore[arg-type]
        try:
            if decode(body, case.wire).source.corrections:
                yield path, body
        except DecodeError as error:
            pytest.fail(f"{form} at {path}: {error}")


@rows("case", SMALL)
def test_a_list_in_another_form_is_read_as_the_list_and_repaired_to_it(case: Case) -> None:
    is_clean = not repair(case.body, case.wire).changes
    expected = pairs_of(decode(case.body, case.wire))
    found = [(form, *rest) for form in FORMS for rest in corrected(case, form)]
    for form, path, body in found:
        assert pairs_of(decode(body, case.wire)) == expected, (path, form)
        assert encode(decode(body, case.wire), case.wire).body == body
        assert "wrong-json-type" in {finding.name for finding in check(body, case.wire)}
        repaired = repair(body, case.wire)
        assert "wrong-json-type" in {change.name for change in repaired.changes}
        if is_clean:
            assert repaired.body == case.body, (path, form)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_corrected_in_some_case_of_every_wire(form: str) -> None:
    wires: set[str] = set()
    for case in SMALL:
        if case.wire not in wires and any(corrected(case, form)):
            wires.add(case.wire)
    expected = {*MODELS} - ({"gemini"} if FORMS[form] is omit else set())  # its API accepts one
    assert wires == expected


@rows("wire, target", [(wire, target) for wire in SHAPES for target in MODELS])
def test_a_single_element_instead_of_each_list_is_translated_as_the_list(
    wire: str, target: str
) -> None:
    whole = history_body("one-call", wire)
    body = whole
    for path in reversed(lists_of_objects(whole)):
        if path[0] != "tools":  # their inner lists are in schemas
            body = set_at(body, path, omit(get(body, path)))  # type: ignore[arg-type]
    expected = whole if wire != target or wire != "gemini" else body  # its API accepts both
    assert translate(body, wire, target).body == translate(expected, wire, target).body


def chat(*messages: JSON) -> Object:
    return {"model": "m", "messages": [*messages]}


CALL: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
UNLISTED = chat(
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": CALL},
    {"role": "user", "content": "well?"},
)


def test_a_call_without_its_list_gets_its_missing_result() -> None:
    repaired = repair(UNLISTED, "openai-chat")
    assert {change.name for change in repaired.changes} == {"wrong-json-type", "missing-result"}
    (pair,) = decode(repaired.body, "openai-chat").pairs()
    assert pair.call is not None and pair.result is not None
    assert repaired.findings == []


def test_an_edit_writes_the_corrected_list() -> None:
    edited = decode(UNLISTED, "openai-chat")
    edited = edited.change_arguments(edited.calls()[0], {"x": 1})
    written = encode(edited, "openai-chat").body
    assert isinstance(get(written, ("messages", 1, "tool_calls")), list)


@pytest.mark.parametrize(
    ("role", "expected"), [(None, "assistant"), (7, "user"), (["user"], None), ({}, None)]
)
def test_a_role_that_is_no_text_is_read_as_missing_or_unknown(role: JSON, expected: str) -> None:
    body = chat({"role": role, "content": "hi"})
    if expected is None:
        with pytest.raises(DecodeError):
            decode(body, "openai-chat")
        return
    repaired = repair(body, "openai-chat")
    assert get(repaired.body, ("messages", 0, "role")) == expected
    assert repaired.findings == []


@pytest.mark.parametrize("wire", [wire for wire in SHAPES if not SHAPES[wire].calls_are_items])
def test_messages_without_roles_are_repaired_and_keep_their_pairs(wire: str) -> None:
    body = json.loads(json.dumps(history_body("one-call", wire)))
    for message in body[SHAPES[wire].list_field]:
        message.pop("role")
    repaired = repair(body, wire)
    assert repaired.findings == []
    (pair,) = decode(repaired.body, wire).pairs()
    assert pair.call is not None and pair.result is not None


@pytest.mark.parametrize(
    "messages", [None, 7, "hi", "{", ["hi"], [7], [["hi"]], [[7]], {"0": "hi"}, '["hi"]']
)
def test_what_is_no_list_of_messages_stays_an_error(messages: JSON) -> None:
    with pytest.raises(DecodeError):
        decode({"messages": messages}, "openai-chat")


@pytest.mark.parametrize(
    "message",
    [None, [{"role": "user", "content": "hi"}], {"role": "user", "content": 7}],
    ids=["null", "list", "number"],
)
def test_corrections_take_linear_time(message: JSON) -> None:
    bodies = [chat(*[message] * size, {"role": "user", "content": "hi"}) for size in (8000, 32000)]
    decode(bodies[0], "openai-chat")
    quarter, whole = (lambda body=body: decode(body, "openai-chat") for body in bodies)
    assert growth(quarter, whole) < GROWTH_LIMIT
