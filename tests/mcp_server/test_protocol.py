"""MCP without a transport: names, list entries, and every result written and read back."""

from __future__ import annotations

import random
from typing import Literal

import pytest
from mcp_types import CallToolResult, Tool
from runnables import runnable

from toolwire.conversation.json import JSON, Object
from toolwire.execution.ledger.base import Failure, Outcome
from toolwire.execution.tool_call import ToolCallResult
from toolwire.mcp import protocol as mcp
from toolwire.mcp import results
from toolwire.mcp.protocol import CallMetadata, McpRejection
from toolwire.tools.errors import InvalidInput, NoEffect, RetryableToolError, ToolError
from toolwire.tools.names import NAME_RULE, tool_names
from toolwire.tools.runnable import Authorization, Requirements, Runnable


def runnables_with_ids(*ids: str) -> list[Runnable]:
    return [runnable(lambda arguments, context: None, id) for id in ids]


def test_the_newest_version_has_the_plain_name_and_older_ones_say_which_they_are() -> None:
    named = tool_names(
        runnables_with_ids(
            "Calculator.Add@1.0.0", "Calculator.Add@1.9.0", "Calculator.Add@1.10.0", "A.B@0.1.0"
        )
    )
    assert {name: str(tool.id) for name, tool in named.items()} == {
        "A_B": "A.B@0.1.0",
        "Calculator_Add_1_0_0": "Calculator.Add@1.0.0",
        "Calculator_Add_1_9_0": "Calculator.Add@1.9.0",
        "Calculator_Add": "Calculator.Add@1.10.0",
    }


def test_names_are_unique_and_do_not_depend_on_the_order_of_the_tools() -> None:
    every = runnables_with_ids(
        "A_B.C@1.0.0",
        "A.B_C@1.0.0",
        "K.T@1.0.0",
        "K.T@2.0.0",
        "K.T_1_0_0@1.0.0",
        f"{'L' * 60}.{'M' * 60}@1.0.0",
    )
    named = tool_names(every)
    assert len(named) == len(every)
    assert all(NAME_RULE.fits(name) for name in named)
    for seed in range(10):
        mixed = every.copy()
        random.Random(seed).shuffle(mixed)
        assert list(tool_names(mixed).items()) == list(named.items())


def test_a_list_entry_is_a_tool_of_the_sdk_with_its_requirements() -> None:
    needs = Requirements((Authorization("google", ("mail",)),), ("KEY",), True)
    tool = runnable(lambda arguments, context: None, "Gmail.Get@1.2.0", needs=needs, read_only=True)
    entry = mcp.list_entry("Gmail_Get", tool)
    read = Tool.model_validate(entry, by_name=False)
    assert read.annotations is not None and read.annotations.read_only_hint is True
    assert read.input_schema["type"] == "object" and read.output_schema is None
    meta = entry["_meta"]
    assert isinstance(meta, dict) and meta["toolwire/id"] == "Gmail.Get@1.2.0"
    assert mcp.read_requirements(meta) == needs
    assert mcp.read_requirements(
        {"toolwire/requirements": {"authorization": [7, {"id": "x", "oauth2": 3}], "secrets": "no"}}
    ) == Requirements((Authorization("x"),))


STATES: dict[
    Literal["running", "lost", "gone", "unavailable", "too-old"], tuple[str, bool, type[ToolError]]
] = {
    "running": ("still_running", True, NoEffect),
    "lost": ("outcome_unknown", False, ToolError),
    "gone": ("result_expired", False, ToolError),
    "unavailable": ("unavailable", True, NoEffect),
    "too-old": ("call_id_too_old", False, ToolError),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_without_an_outcome_is_an_error_that_programs_can_read(
    state: Literal["running", "lost", "gone", "unavailable", "too-old"],
) -> None:
    kind, can_retry, raised = STATES[state]
    result = results.write_result(
        ToolCallResult(state=state, call_id="c1", attempt=2, started_at=7, retry_after_ms=500)
    )
    CallToolResult.model_validate(result, by_name=False)
    meta = result["_meta"]
    assert isinstance(meta, dict) and result["isError"] is True
    about: Object = {"call_id": "c1", "attempt": 2, "started_at": 7}
    assert meta["toolwire/error"] == {
        "kind": kind,
        "can_retry": can_retry,
        "retry_after_ms": 500,
        **about,
    }
    error = results.read_failure(result)
    assert (type(error), error.kind) == (raised, kind), "a retry under a new id could run it twice"


def test_a_call_id_of_another_call_is_refused_without_a_word_about_that_one() -> None:
    with pytest.raises(McpRejection) as refused:
        results.write_result(
            ToolCallResult(state="mismatch", call_id="c1", outcome=Outcome("hush"))
        )
    assert (refused.value.code, refused.value.kind) == (-32602, "call_id_reused")
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("any_value", [True, False])
@pytest.mark.parametrize(
    "value", [None, True, 5, "5", "", 1.5, [1, None], {"a": None}, {}, 90071992547409931]
)
def test_a_value_is_read_back_as_it_was(value: JSON, any_value: bool) -> None:
    result = results.write_result(
        ToolCallResult(state="done", call_id="c1", outcome=Outcome(value), replayed=True),
        any_structured_content=any_value,
    )
    structured = result.get("structuredContent", ...)
    assert any_value or structured is ... or isinstance(structured, dict), (
        "older versions take objects only"
    )
    assert results.read_value(result) == value
    meta = result["_meta"]
    assert isinstance(meta, dict) and meta["toolwire/replayed"] is True


def test_content_beside_a_structure_is_not_dropped() -> None:
    image: Object = {"type": "image", "data": "", "mimeType": "image/png"}
    assert results.read_value({"structuredContent": {"a": 1}, "content": [image]}) == {
        "structuredContent": {"a": 1},
        "content": [image],
    }
    assert results.read_value({"content": []}) is None
    two: list[JSON] = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert results.read_value({"content": two}) == two
    error = results.read_failure(
        {"isError": True, "content": [{"type": "text", "text": "no"}, image]}
    )
    assert (error.message, error.extra["content"]) == (
        "no",
        [{"type": "text", "text": "no"}, image],
    )


def test_a_failure_is_read_back_as_it_was() -> None:
    said = Failure("Later.", "in the log", True, 500, "Doors: 42", "busy", {"status": 429})
    error = results.read_failure(
        results.write_result(
            ToolCallResult(state="failed", call_id="c1", outcome=Outcome(failure=said))
        )
    )
    assert isinstance(error, RetryableToolError)
    assert (error.message, error.developer_message, error.kind) == ("Later.", "in the log", "busy")
    assert (error.retry_after_ms, error.additional_prompt_content, error.extra["status"]) == (
        500,
        "Doors: 42",
        429,
    )
    for result in (
        results.invalid_input_result(InvalidInput({"b": "no number"})),
        results.missing_requirements_result(Requirements((), ("KEY",), True)),
    ):
        assert isinstance(results.read_failure(result), NoEffect), "it never ran"


def test_request_metadata_is_read_as_it_was_written() -> None:
    said = CallMetadata("c1", "u1", {"google": "t"}, {"KEY": "s"}, "trace")
    assert mcp.read_metadata(mcp.write_metadata(said)) == said
    assert mcp.read_metadata({}) == CallMetadata()
    assert mcp.read_metadata({"toolwire/call_id": ""}, '"a \\"b\\""').call_id == 'a "b"'
    assert "hush" not in repr(CallMetadata(tokens={"a": "hush"}))


@pytest.mark.parametrize(
    ("meta", "header"),
    [
        ({"toolwire/call_id": 7}, None),
        ({"toolwire/call_id": "a"}, "b"),
        ({"toolwire/call_id": "x" * 257}, None),
        ({"toolwire/context": []}, None),
        (
            {
                "toolwire/context": {
                    "secrets": [{"id": "a", "value": "hush"}, {"id": "a", "value": "hush"}]
                }
            },
            None,
        ),
        ({"toolwire/context": {"authorization": {"token": "hush"}}}, None),
    ],
)
def test_nothing_is_guessed_about_ids_and_credentials(meta: Object, header: str | None) -> None:
    with pytest.raises(McpRejection) as refused:
        mcp.read_metadata(meta, header)
    assert "hush" not in str(refused.value)


IMAGE: Object = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO: Object = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
LINK: Object = {"type": "resource_link", "uri": "file:///a.txt", "name": "a"}
EMBEDDED: Object = {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "a"}}


@pytest.mark.parametrize(
    "value",
    [
        [IMAGE],
        [AUDIO, LINK],
        [{"type": "text", "text": "see"}, IMAGE, EMBEDDED],
        {"content": [IMAGE], "structuredContent": {"width": 3}},
    ],
    ids=["image", "audio and link", "mixed", "structured"],
)
def test_content_blocks_that_a_tool_returns_are_sent_as_they_are(value: JSON) -> None:
    done = ToolCallResult(state="done", call_id="c", outcome=Outcome(value))
    result = results.write_result(done)
    sent = CallToolResult.model_validate(result)
    blocks = value["content"] if isinstance(value, dict) else value
    assert result["content"] == blocks
    assert len(sent.content) == len(blocks if isinstance(blocks, list) else [])
    assert results.read_value(result) == value


@pytest.mark.parametrize("value", [[], [1], [{"type": "image"}], {"content": "x"}, [IMAGE, 1]])
def test_values_that_only_resemble_content_blocks_are_sent_as_json(value: JSON) -> None:
    done = ToolCallResult(state="done", call_id="c", outcome=Outcome(value))
    result = results.write_result(done)
    assert results.read_value(result) == value
    assert "toolwire/content" not in str(result["_meta"])
