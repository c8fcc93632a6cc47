"""The id map of a repair leads from every new id and name to the old one, over all fixes."""

from __future__ import annotations

from toolwire import decode
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, Object
from toolwire.lint import repair


def _tool_use(call_id: str, name: str = "f", x: int = 1) -> JSON:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {"x": x}}


def _tool_result(call_id: str, text: str = "1") -> JSON:
    return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _body(*messages: JSON, **more: JSON) -> Object:
    return {"messages": [{"role": "user", "content": "hi"}, *messages], **more}


def _model(*blocks: JSON) -> JSON:
    return {"role": "assistant", "content": [*blocks]}


def _user(*blocks: JSON) -> JSON:
    return {"role": "user", "content": [*blocks]}


def test_a_clean_history_has_an_empty_map() -> None:
    body = _body(_model(_tool_use("t1")), _user(_tool_result("t1")))
    assert repair(body, "anthropic").ids == IdMap()


def test_the_map_leads_from_a_fitted_id_to_the_original() -> None:
    body = _body(_model(_tool_use("functions.f:0")), _user(_tool_result("functions.f:0")))
    repaired = repair(body, "anthropic")
    (call,) = decode(repaired.body, "anthropic").calls()
    assert repaired.ids.ids == {call.id: "functions.f:0"}
    assert call.id != "functions.f:0"


def test_the_map_leads_from_a_renamed_duplicate_to_the_shared_id() -> None:
    next_turn = (_model(_tool_use("t1", x=2)), _user(_tool_result("t1", "2")))
    repaired = repair(
        _body(_model(_tool_use("t1")), _user(_tool_result("t1")), *next_turn), "anthropic"
    )
    first, second = decode(repaired.body, "anthropic").calls()
    assert first.id == "t1"
    assert repaired.ids.ids == {second.id: "t1"}


def test_the_map_follows_ids_over_several_fixes_and_past_a_removed_call() -> None:
    """The copy of a call is removed, one id is fitted, and an interrupted call gets a result."""
    calls = _model(
        _tool_use("a.b"), _tool_use("t1", x=2), _tool_use("t1", x=2), _tool_use("c:d", "g", 3)
    )
    repaired = repair(
        _body(
            calls,
            _user(_tool_result("a.b"), _tool_result("t1")),
            {"role": "user", "content": "so?"},
        ),
        "anthropic",
    )
    after = decode(repaired.body, "anthropic").calls()
    assert [repaired.ids.ids.get(call.id, call.id) for call in after] == ["a.b", "t1", "c:d"]
    assert len({change.name for change in repaired.changes}) > 2


def test_the_map_restores_names_of_calls_and_of_tool_definitions() -> None:
    offer: JSON = {"name": "files/read", "input_schema": {"type": "object"}}
    body = _body(_model(_tool_use("t1", "files/read")), _user(_tool_result("t1")), tools=[offer])
    repaired = repair(body, "anthropic", unsafe=True)
    (tool,) = decode(repaired.body, "anthropic").tools
    assert repaired.ids.names == {tool.name: "files/read"}


def test_encode_accepts_the_map() -> None:
    body = _body(_model(_tool_use("functions.f:0")), _user(_tool_result("functions.f:0")))
    repaired = repair(body, "anthropic")
    fields = {"ids", "names", "calls", "results", "defaults"}
    assert set(repaired.ids.to_dict()) == fields


# --- what is kept when a part is edited and moved at once -----------------------------------------


def test_a_result_that_is_renamed_and_moved_keeps_its_other_fields() -> None:
    strange: JSON = {
        **_tool_result("functions.f:0"),  # type: ignore[dict-item]
        "cache_control": {"type": "ephemeral"},
        "toolset_name": "browser",
    }
    body = _body(
        _model(_tool_use("functions.f:0")), {"role": "user", "content": "wait"}, _user(strange)
    )
    repaired = repair(body, "anthropic")
    blocks = [
        block
        for message in repaired.body["messages"]  # type: ignore[call-overload, index, union-attr]
        for block in message["content"]  # type: ignore[call-overload, index, union-attr]
        if isinstance(block, dict)
    ]
    (result,) = [block for block in blocks if block.get("type") == "tool_result"]
    assert (result["toolset_name"], result["cache_control"]) == ("browser", {"type": "ephemeral"})


def test_of_two_results_the_one_in_the_turn_of_the_call_stays() -> None:
    later = (
        _model(_tool_use("t2", x=2)),
        _user(_tool_result("t2", "2"), _tool_result("t1", "strange")),
    )
    repaired = repair(
        _body(_model(_tool_use("t1")), _user(_tool_result("t1", "mine")), *later),
        "anthropic",
        unsafe=True,
    )
    texts = {result.call_id: result.text for result in decode(repaired.body, "anthropic").results()}
    assert texts == {"t1": "mine", "t2": "2"}


def test_an_empty_legacy_function_call_is_no_call_and_stays_unchanged() -> None:
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
