"""What a repair renamed leads home: its map, over all its steps, and whatever else it took out or
put in."""

from __future__ import annotations

from toolwire import decode
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, Object
from toolwire.lint import repair


def _use(one: str, name: str = "f", x: int = 1) -> JSON:
    return {"type": "tool_use", "id": one, "name": name, "input": {"x": x}}


def _told(one: str, text: str = "1") -> JSON:
    return {"type": "tool_result", "tool_use_id": one, "content": text}


def _body(*messages: JSON, **more: JSON) -> Object:
    return {"messages": [{"role": "user", "content": "hi"}, *messages], **more}


def _model(*blocks: JSON) -> JSON:
    return {"role": "assistant", "content": [*blocks]}


def _user(*blocks: JSON) -> JSON:
    return {"role": "user", "content": [*blocks]}


def test_a_clean_history_has_an_empty_map() -> None:
    body = _body(_model(_use("t1")), _user(_told("t1")))
    assert repair(body, "anthropic").ids == IdMap()


def test_an_id_that_was_fitted_leads_to_the_one_before() -> None:
    body = _body(_model(_use("functions.f:0")), _user(_told("functions.f:0")))
    mended = repair(body, "anthropic")
    (call,) = decode(mended.body, "anthropic").calls()
    assert mended.ids.ids == {call.id: "functions.f:0"}
    assert call.id != "functions.f:0"


def test_an_id_that_came_again_leads_to_the_one_both_had() -> None:
    again = (_model(_use("t1", x=2)), _user(_told("t1", "2")))
    mended = repair(_body(_model(_use("t1")), _user(_told("t1")), *again), "anthropic")
    first, second = decode(mended.body, "anthropic").calls()
    assert first.id == "t1"
    assert mended.ids.ids == {second.id: "t1"}


def test_ids_are_followed_over_several_steps_and_past_a_call_that_went() -> None:
    """The copy of a call goes, one id is fitted, and what was cut short is answered."""
    calls = _model(_use("a.b"), _use("t1", x=2), _use("t1", x=2), _use("c:d", "g", 3))
    mended = repair(
        _body(calls, _user(_told("a.b"), _told("t1")), {"role": "user", "content": "so?"}),
        "anthropic",
    )
    after = decode(mended.body, "anthropic").calls()
    assert [mended.ids.ids.get(call.id, call.id) for call in after] == ["a.b", "t1", "c:d"]
    assert len({change.name for change in mended.changes}) > 2


def test_names_lead_home_too_from_the_calls_and_from_the_offer() -> None:
    offer: JSON = {"name": "files/read", "input_schema": {"type": "object"}}
    body = _body(_model(_use("t1", "files/read")), _user(_told("t1")), tools=[offer])
    mended = repair(body, "anthropic", unsafe=True)
    (tool,) = decode(mended.body, "anthropic").tools
    assert mended.ids.names == {tool.name: "files/read"}


def test_the_map_is_one_that_encode_takes() -> None:
    body = _body(_model(_use("functions.f:0")), _user(_told("functions.f:0")))
    mended = repair(body, "anthropic")
    assert set(mended.ids.to_dict()) == {"ids", "names", "forms"}


# --- what is kept when a part is edited and moved at once -----------------------------------------


def test_a_result_that_is_renamed_and_moved_keeps_fields_that_nobody_knows() -> None:
    strange: JSON = {
        **_told("functions.f:0"),  # type: ignore[dict-item]
        "cache_control": {"type": "ephemeral"},
        "x_future": 7,
    }
    body = _body(_model(_use("functions.f:0")), {"role": "user", "content": "wait"}, _user(strange))
    mended = repair(body, "anthropic")
    found = [
        block
        for message in mended.body["messages"]  # type: ignore[call-overload, index, union-attr]
        for block in message["content"]  # type: ignore[call-overload, index, union-attr]
        if isinstance(block, dict)
    ]
    (told,) = [block for block in found if block.get("type") == "tool_result"]
    assert (told["x_future"], told["cache_control"]) == (7, {"type": "ephemeral"})


def test_of_two_results_the_one_in_the_calls_own_turn_stays() -> None:
    later = (_model(_use("t2", x=2)), _user(_told("t2", "2"), _told("t1", "strange")))
    mended = repair(
        _body(_model(_use("t1")), _user(_told("t1", "mine")), *later), "anthropic", unsafe=True
    )
    told = {result.call_id: result.text for result in decode(mended.body, "anthropic").results()}
    assert told == {"t1": "mine", "t2": "2"}


def test_a_field_for_the_old_call_that_is_only_filled_in_is_no_call_and_goes_back_as_it_came() -> (
    None
):
    filled: JSON = {
        "role": "assistant",
        "content": "ok",
        "function_call": {"name": "", "arguments": ""},
    }
    body: JSON = {
        "messages": [{"role": "user", "content": "hi"}, filled, {"role": "user", "content": "and?"}]
    }
    assert decode(body, "openai-chat").calls() == []
    assert repair(body, "openai-chat", target="deepseek", unsafe=True).body == body
