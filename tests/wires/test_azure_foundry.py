"""Azure AI Foundry: what it has beyond the Responses wire. The laws hold for it as for
every wire.
"""

from __future__ import annotations

import pytest
from cases import CASES
from rows import rows
from wires.test_openai_responses import assert_read_as_listed, entries, wrap_example

from toolwire import Call, Result, decode, detect, encode, translate
from toolwire.conversation.json import JSON
from toolwire.wires.azure_foundry.blocks import PAIRED_TOOLS, SERVICE_ITEMS

NAME = "azure-foundry"
__all__ = ["wrap_example"]


def answer(*items: JSON) -> dict[str, JSON]:
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m",
        "output": list(items),
    }


@rows("entry", entries(NAME), ids=lambda entry: f"{entry['form']}-{entry['type_name']}")
def test_every_type_of_the_catalogue_is_read_for_what_it_is(entry: dict[str, object]) -> None:
    assert_read_as_listed(entry, NAME)


@pytest.mark.parametrize("stem", PAIRED_TOOLS)
def test_both_spellings_are_one_family_and_each_is_kept(stem: str) -> None:
    for kind in (f"{stem}_call", f"{stem}_preview_call"):
        body = answer(
            {"type": kind, "id": "i", "call_id": "c", "arguments": "{}"},
            {"type": f"{kind}_output", "id": "o", "call_id": "c"},
        )
        conversation = decode(body, NAME, "response")
        pair = conversation.pairs()[0]
        assert pair.how == "id"
        assert pair.call
        assert (pair.call.name, pair.call.family, pair.call.executor, pair.call.item) == (
            stem,
            PAIRED_TOOLS[stem],
            "provider",
            "i",
        )
        assert encode(conversation, NAME, "response").body == body


def test_a_type_of_its_own_is_unknown_to_the_wire_it_extends() -> None:
    body = answer({"type": "bing_grounding_call", "id": "i", "call_id": "c", "arguments": "{}"})
    assert decode(body, NAME, "response").calls()
    assert not decode(body, "openai-responses", "response").calls()


def test_memory_without_an_id_gets_one_that_is_not_sent_back() -> None:
    body: dict[str, JSON] = {"model": "m", "input": [{"type": "memory_search_call", "results": []}]}
    conversation = decode(body, NAME)
    call, result = conversation.calls()[0], conversation.results()[0]
    assert (call.origin, call.id == result.call_id) == ("minted", True)
    assert encode(conversation, NAME).body == body
    assert decode(body, NAME).calls()[0].id == call.id


def test_results_that_answer_no_call_stay_alone_under_their_item_id() -> None:
    body = answer(
        {
            "type": "workflow_action",
            "id": "wfa_1",
            "kind": "SetVariable",
            "action_id": "a",
            "status": "failed",
        },
        {"type": "structured_outputs", "id": "so_1", "output": {"grade": 5}},
    )
    conversation = decode(body, NAME, "response")
    assert [(pair.call, pair.how) for pair in conversation.pairs()] == [(None, None), (None, None)]
    assert [(r.call_id, r.origin, r.error) for r in conversation.results()] == [
        ("wfa_1", "item", True),
        ("so_1", "item", False),
    ]
    assert conversation.results()[1].output == {"grade": 5}


def test_service_tools_become_text_on_other_wires_and_each_is_reported() -> None:
    body = answer(
        {
            "type": "openapi_call",
            "id": "i",
            "call_id": "c",
            "name": "weather",
            "arguments": "{}",
            "response_id": "r",
        },
        {"type": "openapi_call_output", "id": "o", "call_id": "c", "output": "18 C"},
    )
    translated = translate(body, NAME, "openai-chat", "response", server_tools="text")
    assert {"/output/0", "/output/1", "/output/0/response_id"} <= {
        loss.pointer for loss in translated.losses
    }


def test_client_calls_of_the_wire_it_extends_keep_their_kind() -> None:
    output: JSON = {"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    call: JSON = {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "c",
        "action": {"commands": ["ls"]},
    }
    body: dict[str, JSON] = {
        "model": "m",
        "input": [call, {"type": "shell_call_output", "call_id": "c", "output": [output]}],
    }
    written = decode(translate(body, "openai-responses", NAME).json(), NAME)
    assert [
        (part.family, part.executor) for part in written.parts() if isinstance(part, Call | Result)
    ] == [("function-shell", "client")] * 2
    assert written.results()[0] == decode(body, "openai-responses").results()[0]


def test_detect_finds_this_wire_by_fields_that_the_wire_it_extends_lacks() -> None:
    for case in CASES:
        if case.wire == NAME:
            text = str(case.body)
            marked = "agent_reference" in text or any(f"'{kind}'" in text for kind in SERVICE_ITEMS)
            assert detect(case.body) == (NAME if marked else "openai-responses")
