"""OpenAI Responses: what is peculiar to it. The laws hold for it as for every wire."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import CASES
from msgspec import UNSET
from msgspec.structs import replace
from rows import rows

from toolwire import (
    Call,
    Conversation,
    Media,
    Message,
    Opaque,
    Reasoning,
    Result,
    Text,
    catalogue,
    decode,
    detect,
    encode,
    translate,
)
from toolwire.conversation.json import JSON
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Kind
from toolwire.wires import wire

NAME = "openai-responses"
CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "wire-catalogue.json"
EITHER = {"server": {"provider"}, "client": {"client"}}


def wrap_example(
    example: JSON, discriminator: dict[str, str], form: str
) -> tuple[JSON, Kind] | None:
    """A minimal example in a whole body."""
    if form == "response-stream":
        return None
    if form == "response":
        return {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "model": "m",
            "output": [example],
        }, "response"
    return {"model": "m", "input": [{"role": "user", "content": "Go."}, example]}, "request"


def entries(name: str) -> list[dict[str, object]]:
    if not CATALOGUE.is_file():
        return []
    return [
        entry
        for entry in json.loads(CATALOGUE.read_text())
        if entry["wire"] == name and entry["core_wire"]
    ]


def assert_read_as_listed(entry: dict[str, object], name: str) -> None:
    """The example is read as its entry lists, and written back unchanged."""
    wrapped = wrap_example(entry["min_example"], entry["discriminator"], str(entry["form"]))  # type: ignore[arg-type]
    if wrapped is None:
        return
    body, kind = wrapped
    conversation = decode(body, name, kind)
    parts = [part for part in conversation.parts() if isinstance(part, Call | Result)]
    expected = {"call": [Call], "output": [Result], "call+output": [Call, Result]}[
        str(entry["direction"])
    ]
    assert [type(part) for part in parts] == expected
    executor = str(entry["executor"])
    assert {part.family for part in parts} == {entry["family"]}
    assert {part.executor for part in parts} <= EITHER.get(executor, {"client", "provider"})
    spec = next(spec for spec in wire(name).blocks if spec is parts[0].spec)
    assert (spec.direction, spec.family, spec.origin) == (
        entry["direction"],
        entry["family"],
        entry["origin_class"],
    )
    assert spec.identified_by == entry["discriminator"]
    found = {(entry.wire, entry.direction, entry.family, entry.origin) for entry in catalogue()}
    assert (name, entry["direction"], entry["family"], entry["origin_class"]) in found
    assert encode(conversation, name, kind).body == body
    edited = replace(
        conversation, messages=(*conversation.messages,), settings=dict(conversation.settings)
    )
    assert encode(edited, name, kind).body == body


@rows("entry", entries(NAME), ids=lambda entry: f"{entry['form']}-{entry['type_name']}")
def test_every_type_of_the_catalogue_is_read_for_what_it_is(entry: dict[str, object]) -> None:
    assert_read_as_listed(entry, NAME)


def request(*items: JSON, **more: JSON) -> dict[str, JSON]:
    return {"model": "m", **more, "input": [{"role": "user", "content": "Go."}, *items]}


def require_object(encoded: JSON) -> dict[str, JSON]:
    assert isinstance(encoded, dict)
    return encoded


def items_of(encoded: JSON, key: str = "input") -> list[dict[str, JSON]]:
    items = require_object(encoded)[key]
    assert isinstance(items, list)
    return [item for item in items if isinstance(item, dict)]


# --- ids ------------------------------------------------------------------------------------------


def test_the_call_id_is_the_id_of_a_call_and_the_item_id_is_kept() -> None:
    call = decode(
        request(
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "f",
                "arguments": "{}",
            }
        ),
        NAME,
    ).calls()[0]
    assert (call.id, call.origin, call.item) == ("call_1", "wire", "fc_1")


def test_an_item_id_used_as_the_id_is_written_back_as_the_item_id() -> None:
    body = request(
        {"type": "function_call", "id": "fc_1", "call_id": None, "name": "f", "arguments": "{}"}
    )
    conversation = decode(body, NAME)
    call = conversation.calls()[0]
    assert (call.id, call.origin) == ("fc_1", "item")
    encoded = encode(conversation.replace(call, replace(call, args=LazyJson('{"a":1}'))), NAME)
    assert items_of(encoded.body)[1] == {
        "type": "function_call",
        "id": "fc_1",
        "call_id": None,
        "name": "f",
        "arguments": '{"a":1}',
    }
    moved = encode(conversation.replace(call, replace(call, id="fc_2")), NAME)
    assert items_of(moved.body)[1]["id"] == "fc_2"
    assert items_of(moved.body)[1]["call_id"] is None


def test_a_result_made_for_a_call_without_a_call_id_does_not_invent_one() -> None:
    conversation = decode(
        request({"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}), NAME
    )
    answer = Message("tool", (conversation.calls()[0].result("done"),))
    encoded = encode(replace(conversation, messages=(*conversation.messages, answer)), NAME)
    assert items_of(encoded.body)[2] == {
        "type": "function_call_output",
        "output": "done",
        "name": "f",
    }
    assert [pair.how for pair in decode(encoded.json(), NAME).pairs()] == ["name"]


def test_calls_of_other_wires_get_no_item_id() -> None:
    call: JSON = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages: list[JSON] = [
        {"role": "assistant", "content": "Look:", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    translated = translate({"messages": messages}, "openai-chat", NAME)
    assert translated.body == {
        "input": [
            {"role": "assistant", "content": "Look:"},
            {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        ]
    }
    assert translated.losses == []


TOOL_MESSAGE: dict[str, JSON] = {"role": "tool", "tool_call_id": "c1", "content": "R"}
CALLED: JSON = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize("name", [NAME, "azure-foundry"])
def test_a_message_of_the_role_tool_is_the_result_it_is(name: str) -> None:
    conversation = decode(request(CALLED, TOOL_MESSAGE), name)
    (pair,) = conversation.pairs()
    assert pair.how == "id"
    assert pair.result is not None
    assert (pair.result.text, pair.result.origin, pair.result.spec in wire(name).blocks) == (
        "R",
        "wire",
        False,
    )
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool"]
    other = NAME if name != NAME else "azure-foundry"
    translated = translate(request(CALLED, TOOL_MESSAGE), name, other)
    assert items_of(translated.body)[2] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": "R",
    }
    assert translated.losses == []
    chat = translate(request(CALLED, TOOL_MESSAGE), name, "openai-chat")
    assert chat.body["messages"][2] == TOOL_MESSAGE  # type: ignore[index,call-overload]
    assert chat.losses == []


def test_a_message_of_the_role_tool_is_written_back_with_only_its_edit() -> None:
    blocks: JSON = {
        **TOOL_MESSAGE,
        "type": "message",
        "content": [{"type": "text", "text": "R"}],
        "mine": 1,
    }
    for text, content in ((TOOL_MESSAGE, "S"), (blocks, [{"type": "text", "text": "S"}])):
        conversation = decode(request(CALLED, text), NAME)
        edited = replace(
            conversation, messages=(*conversation.messages, Message("user", (Text("Thanks."),)))
        )
        assert items_of(encode(edited, NAME).body)[2] == text
        result = conversation.results()[0]
        new = "S" if text is TOOL_MESSAGE else (Text("S"),)
        encoded = encode(conversation.replace(result, replace(result, output=new)), NAME)
        assert items_of(encoded.body)[2] == {**text, "content": content}
    turn = replace(edited.messages[2], parts=(Text("Look."), *edited.messages[2].parts))
    moved = encode(replace(edited, messages=(*edited.messages[:2], turn)), NAME)
    assert text in items_of(moved.body)


@pytest.mark.parametrize(
    ("value", "text"),
    [({"role": "tool", "content": "R"}, "R"), ({"role": "tool", "name": "f", "content": None}, "")],
)
def test_a_message_of_the_role_tool_without_an_id_answers_the_only_open_call(
    value: JSON, text: str
) -> None:
    conversation = decode(request(CALLED, value), NAME)
    assert [
        (pair.call and pair.call.id, pair.result and pair.result.text)
        for pair in conversation.pairs()
    ] == [("c1", text)]
    assert encode(conversation, NAME).body == request(CALLED, value)


@pytest.mark.parametrize(
    "fields",
    [{"type": "function_call_output", "call_id": "c1"}, {"role": "tool", "tool_call_id": "c1"}],
)
def test_a_block_edited_inside_a_result_is_written_with_its_edit(fields: dict[str, JSON]) -> None:
    key = "output" if "type" in fields else "content"
    blocks: list[JSON] = [{"type": "input_text", "text": text} for text in ("a", "b")]
    conversation = decode(request(CALLED, {**fields, key: blocks}), NAME)
    result = conversation.results()[0]
    assert isinstance(result.output, tuple)
    first, second = result.output
    new = conversation.replace(result, replace(result, output=(first, replace(second, text="c"))))
    expected = {**fields, key: [blocks[0], {"type": "input_text", "text": "c"}]}
    assert items_of(encode(new, NAME).body)[2] == expected


def test_a_message_of_the_role_tool_without_text_or_blocks_is_opaque() -> None:
    message: JSON = {"role": "tool", "tool_call_id": "c1", "content": {"n": 1}}
    conversation = decode(request(CALLED, message), NAME)
    assert not conversation.results()
    assert [type(part) for part in conversation.parts()][-1] is Opaque


def test_a_local_shell_result_finds_its_call_by_either_id() -> None:
    action: JSON = {"type": "exec", "command": ["ls"], "env": {}}
    call: JSON = {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_1",
        "action": action,
        "status": "completed",
    }
    for call_id in ("lsh_1", "call_1"):
        pair = decode(
            request(call, {"type": "local_shell_call_output", "id": call_id, "output": "a"}), NAME
        ).pairs()[0]
        assert (pair.call and pair.call.id, pair.result and pair.result.call_id, pair.how) == (
            "call_1",
            "call_1",
            "id",
        )


def test_of_two_open_searches_without_ids_none_is_guessed() -> None:
    call: JSON = {
        "type": "tool_search_call",
        "call_id": None,
        "execution": "server",
        "arguments": {},
    }
    output: JSON = {
        "type": "tool_search_output",
        "call_id": None,
        "execution": "server",
        "tools": [],
    }
    first, second = ({**call, "id": item_id} for item_id in ("tsc_1", "tsc_2"))  # type: ignore[dict-item]
    assert [pair.how for pair in decode(request(first, second, output), NAME).pairs()] == [
        None,
        None,
        None,
    ]
    assert [pair.how for pair in decode(request(first, output, second, output), NAME).pairs()] == [
        "id",
        "id",
    ]


# --- items, turns, hybrids ------------------------------------------------------------------------


def test_a_turn_is_one_message_and_its_results_another() -> None:
    reasoning: JSON = {"type": "reasoning", "id": "rs_1", "summary": []}
    calls: list[JSON] = [
        {"type": "function_call", "call_id": letter, "name": "f", "arguments": "{}"}
        for letter in "ab"
    ]
    results: list[JSON] = [
        {"type": "function_call_output", "call_id": entry, "output": ""} for entry in "ba"
    ]
    stored: JSON = {"type": "item_reference", "id": "x"}
    text: JSON = {"role": "assistant", "content": "Done."}
    messages = decode(
        request(reasoning, *calls, results[0], stored, results[1], text), NAME
    ).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert [message.raw is UNSET for message in messages] == [False, True, True, True]
    assert [type(part) for part in messages[2].parts] == [Result, Opaque, Result]


def test_a_server_tool_item_is_read_as_a_call_and_its_result() -> None:
    item: JSON = {
        "type": "mcp_call",
        "id": "mcp_1",
        "server_label": "s",
        "name": "now",
        "arguments": "{}",
        "output": "4 C",
    }
    conversation = decode(request(item), NAME)
    pair = conversation.pairs()[0]
    assert pair.call is not None
    assert pair.result is not None
    assert (pair.call.path, pair.call.raw is pair.result.raw, pair.how) == (
        pair.result.path,
        True,
        "id",
    )
    encoded = encode(conversation.replace(pair.result, replace(pair.result, output="5 C")), NAME)
    assert items_of(encoded.body)[1] == {**item, "output": "5 C"}  # type: ignore[dict-item]


def test_a_call_the_provider_still_runs_has_no_result_yet() -> None:
    for status, expected in (("searching", None), ("completed", "id"), ("failed", "id")):
        item: JSON = {
            "type": "web_search_call",
            "id": "ws_1",
            "status": status,
            "action": {"type": "search", "query": "x"},
        }
        pair = decode(request(item), NAME).pairs()[0]
        assert pair.how == expected
        assert pair.result is None or pair.result.error is (status == "failed")


def test_sources_of_a_search_are_its_result() -> None:
    action: JSON = {
        "type": "search",
        "query": "x",
        "sources": [{"type": "url", "url": "https://example.com"}],
    }
    pair = decode(
        request({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}),
        NAME,
    ).pairs()[0]
    assert pair.call and pair.call.input == {"type": "search", "query": "x"}
    assert pair.result and pair.result.output == {
        "sources": [{"type": "url", "url": "https://example.com"}]
    }


@pytest.mark.parametrize(
    ("environment", "executor"),
    [
        (None, "client"),
        ({"type": "local"}, "client"),
        ({"type": "container_reference", "container_id": "c"}, "provider"),
    ],
)
def test_a_shell_in_a_container_is_run_by_the_provider_and_so_is_its_output(
    environment: JSON, executor: str
) -> None:
    body = request(
        {
            "type": "shell_call",
            "call_id": "c",
            "action": {"commands": ["ls"]},
            "environment": environment,
        },
        {"type": "shell_call_output", "call_id": "c", "output": []},
    )
    conversation = decode(body, NAME)
    assert [part.executor for part in conversation.parts() if isinstance(part, Call | Result)] == [
        executor,
        executor,
    ]
    assert [message.role for message in conversation.messages][1:] == (
        ["assistant", "tool"] if executor == "client" else ["assistant"]
    )


def test_a_patch_that_failed_is_an_error() -> None:
    call: JSON = {
        "type": "apply_patch_call",
        "call_id": "c",
        "operation": {"type": "delete_file", "path": "a"},
        "status": "completed",
    }
    conversation = decode(
        request(
            call,
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
        ),
        NAME,
    )
    result = conversation.results()[0]
    assert (result.error, result.output) == (True, "no")
    encoded = encode(conversation.replace(result, replace(result, error=False)), NAME)
    assert items_of(encoded.body)[2]["status"] == "completed"


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"},
            "custom_tool_call_output",
        ),
        ({"type": "shell_call", "call_id": "c", "action": {"commands": []}}, "shell_call_output"),
        ({"type": "apply_patch_call", "call_id": "c", "operation": {}}, "apply_patch_call_output"),
        (
            {"type": "computer_call", "call_id": "c", "action": {"type": "screenshot"}},
            "computer_call_output",
        ),
        (
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            "function_call_output",
        ),
    ],
)
def test_a_result_made_from_its_call_is_written_as_the_kind_that_answers_it(
    item: JSON, kind: str
) -> None:
    conversation = decode(request(item), NAME)
    answer = Message("tool", (conversation.calls()[0].result("done"),))
    encoded = encode(replace(conversation, messages=(*conversation.messages, answer)), NAME)
    assert items_of(encoded.body)[2]["type"] == kind
    assert items_of(encoded.body)[2]["call_id"] == "c"


def test_the_items_of_a_response_can_be_sent_in_the_next_request() -> None:
    texts: list[JSON] = [{"type": "output_text", "text": text, "annotations": []} for text in "ab"]
    output: list[JSON] = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "g"},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "final_answer",
            "content": texts,
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c",
            "name": "f",
            "arguments": "{}",
            "status": "completed",
        },
    ]
    answer = decode(
        {"object": "response", "status": "completed", "output": output}, NAME, "response"
    )
    conversation = decode(request(), NAME)
    messages = (
        *conversation.messages,
        *answer.messages,
        Message("tool", (answer.calls()[0].result("ok"),)),
    )
    written = items_of(encode(replace(conversation, messages=messages), NAME).body)
    assert written[1:] == [
        *output,
        {"type": "function_call_output", "call_id": "c", "output": "ok"},
    ]


def test_a_plain_string_is_a_user_message_and_stays_a_string() -> None:
    conversation = decode({"model": "m", "instructions": "Be brief.", "input": "Hello."}, NAME)
    assert [(message.role, message.parts) for message in conversation.messages] == [
        ("system", (Text("Be brief."),)),
        ("user", (Text("Hello."),)),
    ]
    edited = conversation.replace(next(conversation.parts()), Text("Be long."))
    assert encode(edited, NAME).body == {
        "model": "m",
        "instructions": "Be long.",
        "input": "Hello.",
    }
    more = replace(
        conversation, messages=(*conversation.messages, Message("user", (Text("There?"),)))
    )
    assert items_of(encode(more, NAME).body) == [
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": "There?"},
    ]


def test_a_request_without_input_is_one_only_if_its_history_is_elsewhere() -> None:
    assert decode({"model": "m", "previous_response_id": "resp_1"}, NAME).messages == ()
    with pytest.raises(Exception, match="/input: expected a string or a list, got nothing"):
        decode({"model": "m"}, NAME)


def test_an_image_that_was_made_is_an_image() -> None:
    item: JSON = {
        "type": "image_generation_call",
        "id": "ig_1",
        "status": "completed",
        "result": "AAAA",
        "output_format": "webp",
    }
    assert decode(request(item), NAME).results()[0].output == (
        Media("image", "image/webp", "AAAA"),
    )


# --- to and from other wires ----------------------------------------------------------------------


def test_reasoning_of_another_provider_is_left_out_and_reported() -> None:
    content: list[JSON] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Yes."},
    ]
    body: JSON = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": content}],
    }
    translated = translate(body, "anthropic", NAME)
    assert [item.get("role") for item in items_of(translated.body)] == ["user", "assistant"]
    assert "/messages/1/content/0" in {loss.pointer for loss in translated.losses}


def test_an_image_in_an_assistant_turn_is_named_in_text_and_reported() -> None:
    image = Media("image", "image/png", "AAAA", name="cat.png")
    encoded = encode(Conversation([Message("assistant", [Text("Look:"), image])]), NAME)
    assert items_of(encoded.body) == [
        {"role": "assistant", "content": "Look:"},
        {"role": "assistant", "content": "[image cat.png image/png]"},
    ]
    assert [loss.reason for loss in encoded.losses] == [
        "this wire accepts no image here; replaced by a text description"
    ]


def test_parts_added_to_a_message_of_this_wire_are_lowered_like_any_other() -> None:
    conversation = decode(request(), NAME)
    user = conversation.messages[0]
    image = Media("image", "image/png", "AAAA", name="cat.png")
    audio = Media("audio", "audio/wav", "AAAA")
    parts = (*user.parts, Reasoning("hm"), image, audio)
    encoded = encode(replace(conversation, messages=(replace(user, parts=parts),)), NAME)
    content = items_of(encoded.body)[0]["content"]
    assert isinstance(content, list)
    assert [block["type"] for block in content if isinstance(block, dict)] == [
        "input_text",
        "input_image",
        "input_text",
    ]
    assert [loss.reason for loss in encoded.losses] == [
        "reasoning from another provider is not accepted",
        "the name of this image is not kept here",
        "this wire accepts no audio here; replaced by a text description",
    ]


def test_a_file_id_in_a_result_is_kept_between_wires_of_this_shape() -> None:
    image: JSON = {"type": "input_image", "detail": "high", "file_id": "file_1"}
    output: JSON = {"type": "function_call_output", "call_id": "c1", "output": [image]}
    translated = translate(request(CALLED, output), NAME, "azure-foundry")
    assert items_of(translated.body)[2]["output"] == [image]
    chat = translate(request(CALLED, output), NAME, "anthropic")
    assert "/input/2/output/0" in {loss.pointer for loss in chat.losses}


def test_an_answer_holds_no_message_of_the_user() -> None:
    encoded = encode(decode(request(), NAME), "azure-foundry", "response")
    assert require_object(encoded.body)["output"] == []
    assert "/input/0" in {loss.pointer for loss in encoded.losses}


def test_a_custom_call_is_custom_again_after_a_wire_without_them() -> None:
    body = request(
        {"type": "custom_tool_call", "call_id": "c", "name": "run", "input": "1+1"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "2"},
    )
    translated = translate(body, NAME, "anthropic")
    restored = translate(translated.json(), "anthropic", NAME, ids=translated.ids)
    assert [item.get("type") for item in items_of(restored.body)[1:]] == [
        "custom_tool_call",
        "custom_tool_call_output",
    ]
    assert items_of(restored.body)[1]["input"] == "1+1"


def test_a_kind_of_call_that_only_this_wire_has_is_reported() -> None:
    body = request(
        {"type": "shell_call", "id": "sh_1", "call_id": "c", "action": {"commands": ["ls"]}}
    )
    assert {"/input/1/type", "/input/1/id"} <= {
        loss.pointer for loss in translate(body, NAME, "openai-chat").losses
    }


def test_only_a_lone_system_text_becomes_the_instructions() -> None:
    for texts, expected in ((["a"], "a"), (["a", "b"], None)):
        content: list[JSON] = [{"type": "text", "text": text} for text in texts]
        body: JSON = {
            "messages": [{"role": "system", "content": content}, {"role": "user", "content": "?"}]
        }
        translated = translate(body, "openai-chat", NAME)
        assert require_object(translated.body).get("instructions") == expected
        assert [
            part.text for part in decode(translated.json(), NAME).parts() if isinstance(part, Text)
        ] == [*texts, "?"]


@pytest.mark.parametrize(
    ("body", "stop"),
    [
        ({"status": "completed"}, "stop"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "filter"),
        ({"status": "incomplete", "incomplete_details": {"reason": "steered"}}, "steered"),
        ({"status": "failed", "incomplete_details": None}, "failed"),
        ({}, None),
    ],
)
def test_the_stop_reason_is_read_from_two_fields(body: dict[str, JSON], stop: str | None) -> None:
    assert (
        decode({"object": "response", **body, "output": []}, NAME, "response").messages[0].stop
        == stop
    )


def test_it_stopped_for_a_tool_if_the_client_has_to_run_one() -> None:
    def stop(item: JSON) -> str | None:
        body: dict[str, JSON] = {"object": "response", "status": "completed", "output": [item]}
        return decode(body, NAME, "response").messages[0].stop

    assert stop({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}) == "tool"
    assert (
        stop({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}})
        == "stop"
    )


def test_detect_finds_this_wire_for_its_bodies_only() -> None:
    known = [case for case in CASES if case.wire == NAME and "unknown" not in case.name]
    assert {detect(case.body) for case in known} == {NAME}


def test_a_conversation_made_by_hand_can_be_written() -> None:
    conversation = Conversation((Message("user", (Text("Hello."),)),), wire=NAME)
    assert encode(conversation, NAME).body == {"input": [{"role": "user", "content": "Hello."}]}
