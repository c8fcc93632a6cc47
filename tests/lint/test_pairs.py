"""The rules about pairs, by known mistakes: where text is placed, what must not move, and what stays
unchanged."""

from __future__ import annotations

import pytest
from growth import GROWTH_LIMIT, growth

from toolwire import translate
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.parts import MARK, Text
from toolwire.lint import Repaired, check, repair
from toolwire.lint.examples.blocks import (
    HI,
    assistant_blocks,
    call_item,
    call_part,
    contents_example,
    converse_call,
    converse_example,
    items_request,
    model_parts,
    output_item,
    response_part,
    text_block,
    tool_result,
    tool_use,
    user_blocks,
    user_parts,
)
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.fixes.transforms import INTERRUPTED
from toolwire.lint.fixes.uncertain_results import UNCERTAIN
from toolwire.lint.rule import Example

REPLY: JSON = {"role": "assistant", "content": "one moment"}


def rule_names(example: Example) -> list[str]:
    """The names of what is found, but for equal calls, which these small histories are full of."""
    names = [finding.name for finding in check(example.body, example.wire, target=example.target)]
    return [name for name in names if name != "duplicate-identical-calls"]


def repair_fully(example: Example, *, unsafe: bool = False) -> Repaired:
    """The example after repair."""
    return repair(example.body, example.wire, target=example.target, unsafe=unsafe)


def messages(example: Example, *, unsafe: bool = False) -> list[JSON]:
    """The messages of the example after repair."""
    body = repair_fully(example, unsafe=unsafe).body
    messages = next(
        (
            get(body, (key,))
            for key in ("messages", "contents", "input")
            if isinstance(body, dict) and key in body
        ),
        None,
    )
    assert isinstance(messages, list)
    return messages


def note(text: str) -> JSON:
    """The marked text in place of a result."""
    return {"role": "user", "content": f"{MARK} {text}"}


# --- results without calls ------------------------------------------------------------------------


def test_the_text_of_an_orphan_never_separates_a_call_from_its_result() -> None:
    example = chat_example(
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c1"),
        tool_message("c9", "lost"),
        tool_message("c2"),
        REPLY,
        USER,
    )
    told_in_words = note("a result for c9, whose call is not in this history: lost")
    assert messages(example, unsafe=True) == [
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c1"),
        tool_message("c2"),
        told_in_words,
        REPLY,
        USER,
    ]


@pytest.mark.parametrize("answered", [[], ["c2"]], ids=["none", "one"])
def test_a_turn_with_an_orphan_for_a_result_is_over_and_its_open_call_was_interrupted(
    answered: list[str],
) -> None:
    calls = [tool_call(call_id, name=f"f_{call_id}") for call_id in ("c1", *answered)]
    results = [tool_message(call_id) for call_id in answered]
    example = chat_example(USER, assistant(*calls), *results, tool_message("c9", "lost"))
    repaired = messages(example)
    assert repaired[1] == assistant(*calls)
    assert {get(message, ("tool_call_id",)) for message in repaired[2:-1]} == {"c1", *answered}
    assert repaired[-1] == note("a result for c9, whose call is not in this history: lost")
    assert repair_fully(example).findings == []


def test_an_orphan_becomes_text_by_default() -> None:
    example = chat_example(USER, tool_message("c9", "lost"))
    assert messages(example) == [
        USER,
        note("a result for c9, whose call is not in this history: lost"),
    ]
    assert repair_fully(example).findings == []
    assert [change.name for change in repair_fully(example).changes] == ["orphan-result"]


@pytest.mark.parametrize(
    ("result_id", "ours"),
    [
        ("call_A|fc_B", "call_A"),
        ("functions.read:0", "functions_read_0"),
        ("call_" + "a" * 50, ("call_" + "a" * 50)[:40]),
    ],
)
def test_an_orphan_with_a_rewritten_id_is_assigned_to_its_open_call(
    result_id: str, ours: str
) -> None:
    example = chat_example(USER, assistant(tool_call(result_id)), tool_message(ours, "1"), USER)
    body = repair_fully(example).body
    assert get(body, ("messages", 1, "tool_calls", 0, "id")) == get(
        body, ("messages", 2, "tool_call_id")
    )
    assert get(body, ("messages", 2, "content")) == "1"


def test_an_orphan_that_matches_two_open_calls_is_assigned_to_neither() -> None:
    example = chat_example(
        USER,
        assistant(tool_call("a.b:1"), tool_call("a_b_1x")),
        tool_message("a_b_1"),
        tool_message("a_b_1x"),
        USER,
    )
    ambiguous = chat_example(
        USER,
        assistant(tool_call("long.id:1"), tool_call("long/id:1")),
        tool_message("long_id_1"),
        USER,
    )
    assert get(messages(example), (2, "tool_call_id")) == get(
        messages(example), (1, "tool_calls", 0, "id")
    )
    assert [
        finding.fix
        for finding in check(ambiguous.body, "openai-chat")
        if "result" in finding.name and "long_id_1" in finding.message
    ] == ["safe"]
    assert note("a result for long_id_1, whose call is not in this history: 1") in messages(
        ambiguous
    )


def test_outputs_whose_calls_the_server_keeps_are_no_orphans() -> None:
    assert rule_names(items_request(output_item("c9"), previous_response_id="resp_1")) == []
    assert (
        rule_names(items_request({"type": "item_reference", "id": "fc_1"}, output_item("c9"))) == []
    )


def test_media_of_an_orphan_are_kept() -> None:
    picture: JSON = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
    }
    example = blocks_example(
        USER,
        assistant_blocks(text_block("ok")),
        user_blocks(tool_result("t9", content=[text_block("see"), picture])),
    )
    assert picture in list(get(messages(example, unsafe=True), (2, "content")) or [])  # type: ignore[arg-type]


# --- calls without results ------------------------------------------------------------------------


def test_a_batch_whose_ids_are_only_answered_in_other_turns_is_incomplete() -> None:
    batch = assistant(tool_call("c1"), tool_call("c2"))
    example = chat_example(
        USER, batch, tool_message("c1"), tool_message("c2"), batch, tool_message("c2"), USER
    )
    assert rule_names(example) == ["partial-batch"]
    assert messages(example)[4:] == [
        batch,
        tool_message("c2"),
        tool_message("c1", INTERRUPTED),
        USER,
    ]


def test_existing_results_of_a_partial_batch_stay_verbatim() -> None:
    marked = tool_result("t2", content=[text_block("2")], cache_control={"type": "ephemeral"})
    example = blocks_example(
        USER,
        assistant_blocks(tool_use("t1"), tool_use("t2")),
        user_blocks(marked, text_block("so?")),
    )
    assert messages(example)[2] == user_blocks(
        marked, tool_result("t1", content=INTERRUPTED, is_error=True), text_block("so?")
    )


@pytest.mark.parametrize("unsafe", [False, True])
def test_pending_calls_get_no_placeholder_result(unsafe: bool) -> None:
    example = chat_example(USER, assistant(tool_call("c1"), tool_call("c2")), tool_message("c2"))
    assert (repair_fully(example, unsafe=unsafe).body, rule_names(example)) == (
        example.body,
        ["pending-tail"],
    )


def test_a_placeholder_result_joins_the_next_user_message_where_roles_must_alternate() -> None:
    example = converse_example(
        assistant_blocks(converse_call("t1")), user_blocks({"text": "well?"})
    )
    after = messages(example)
    assert [get(message, ("role",)) for message in after] == ["user", "assistant", "user"]
    assert (get(after[2], ("content", 1)), len(after)) == ({"text": "well?"}, 3)
    assert INTERRUPTED in str(get(after[2], ("content", 0, "toolResult")))


def test_server_tool_calls_get_no_placeholder_result() -> None:
    example = blocks_example(
        USER,
        assistant_blocks(tool_use("srvtoolu_1", "server_tool_use", "web_search"), text_block("hm")),
        USER,
    )
    text = text_block("[toolwire] [web_search was called with {}]")
    assert messages(example) == [USER, assistant_blocks(text, text_block("hm")), USER]
    assert INTERRUPTED not in str(
        repair_fully(
            chat_example(USER, assistant(tool_call("srvtoolu_1", "web_search")), USER), unsafe=True
        ).body
    )


def test_server_tool_calls_of_a_paused_response_are_left_to_the_provider() -> None:
    run = tool_use("srvtoolu_1", "server_tool_use", "code_execution")
    server_result = tool_result(
        "srvtoolu_1", "code_execution_tool_result", {"type": "code_execution_result", "stdout": "1"}
    )
    assert "server-tool-unpaired" not in rule_names(blocks_example(USER, assistant_blocks(run)))
    assert "server-tool-unpaired" not in rule_names(
        blocks_example(USER, assistant_blocks(run, tool_use("t1")), user_blocks(tool_result("t1")))
    )
    assert "server-tool-unpaired" not in rule_names(
        blocks_example(
            USER,
            assistant_blocks(run, tool_use("t1")),
            user_blocks(tool_result("t1")),
            assistant_blocks(server_result),
            USER,
        )
    )


# --- places ---------------------------------------------------------------------------------------


def test_late_results_move_to_their_calls_and_other_messages_follow_in_order() -> None:
    system: JSON = {"role": "system", "content": "be quick"}
    example = chat_example(
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        system,
        tool_message("c2"),
        REPLY,
        {**OBJECT, "tool_call_id": "c1"},
        USER,
        target="deepseek",
    )
    assert messages(example) == [
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c2"),
        {**OBJECT, "tool_call_id": "c1"},
        system,
        REPLY,
        USER,
    ]


OBJECT: Object = {
    "role": "tool",
    "content": [{"type": "text", "text": "1"}],
    "x_unknown": {"kept": [1, None]},
}


def test_messages_that_do_not_move_keep_unknown_fields() -> None:
    strange: JSON = {"role": "user", "content": "hi", "x_unknown": 1.0}
    example = chat_example(
        strange,
        assistant(tool_call("c1"), x_more=None),
        USER,
        tool_message("c1"),
        target="deepseek",
    )
    assert messages(example) == [
        strange,
        assistant(tool_call("c1"), x_more=None),
        tool_message("c1"),
        USER,
    ]


def test_a_split_batch_becomes_one_message_and_keeps_reasoning_and_unknown_fields() -> None:
    first: JSON = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"sealed": "x"},
    }
    example = chat_example(
        USER,
        assistant(first, reasoning_content="f first", x_more=1),
        assistant(tool_call("c2"), content="now g"),
        tool_message("c1"),
        tool_message("c2"),
        target="deepseek",
    )
    assert messages(example)[1:] == [
        assistant(first, tool_call("c2"), content="now g", reasoning_content="f first", x_more=1),
        tool_message("c1"),
        tool_message("c2"),
    ]


def test_sequential_calls_stay_separate_messages() -> None:
    example = chat_example(
        USER,
        assistant(tool_call("c1")),
        tool_message("c1"),
        assistant(tool_call("c2")),
        tool_message("c2"),
    )
    assert rule_names(example) == []


def test_results_move_to_the_front_of_one_message_and_keep_their_fields() -> None:
    marked = tool_result("t1", cache_control={"type": "ephemeral"})
    example = blocks_example(
        USER,
        assistant_blocks(tool_use("t1"), tool_use("t2")),
        user_blocks(text_block("see"), tool_result("t2")),
        user_blocks(marked, text_block("so?")),
    )
    after = messages(example)
    assert after[2] == user_blocks(tool_result("t2"), marked, text_block("see"))
    assert after[3:] == [{"role": "user", "content": "so?"}]


def test_results_get_their_own_message_in_call_order_where_required() -> None:
    example = contents_example(
        HI,
        model_parts(call_part("f"), call_part("g")),
        user_parts({"text": "so"}, response_part("g", 2)),
        user_parts(response_part("f", 1)),
    )
    assert messages(example)[2:] == [
        user_parts(response_part("f", 1), response_part("g", 2)),
        user_parts({"text": "so"}),
    ]


def test_ids_decide_before_order_only_where_the_target_reads_ids() -> None:
    calls = model_parts(call_part("f", "a"), call_part("f", "b"))
    swapped = user_parts(response_part("f", 2, "b"), response_part("f", 1, "a"))
    assert rule_names(contents_example(HI, calls, swapped)) == []
    assert "results-out-of-order" in rule_names(
        contents_example(HI, calls, swapped, target="vertex-gemini-v1")
    )


def test_text_between_a_call_and_its_result_is_reported_only_where_it_is_refused() -> None:
    example = items_request(call_item("c1"), REPLY, output_item("c1"), target="deepseek-responses")
    assert rule_names(items_request(call_item("c1"), REPLY, output_item("c1"))) == []
    assert "result-separated" in rule_names(example)
    assert messages(example) == [USER, call_item("c1"), output_item("c1"), REPLY]


def test_consecutive_assistant_messages_count_as_one_where_the_provider_merges_them() -> None:
    example = blocks_example(
        USER,
        assistant_blocks(tool_use("t1")),
        assistant_blocks(tool_use("t2")),
        user_blocks(tool_result("t1"), tool_result("t2")),
    )
    assert rule_names(example) == []


def test_an_assistant_message_is_added_after_all_results_of_a_turn() -> None:
    ids = ("aaaaaaaa1", "aaaaaaaa2")
    example = Example(
        "mistral",
        "mistral-legacy",
        {"messages": [USER, assistant(*map(tool_call, ids)), *map(tool_message, ids), USER]},
    )
    assert [get(message, ("role",)) for message in messages(example, unsafe=True)] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]


# --- what cannot be known -------------------------------------------------------------------------


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_ambiguous_result_becomes_text_and_goes_to_no_call(unsafe: bool) -> None:
    example = contents_example(
        HI, model_parts(call_part("f"), call_part("f")), user_parts(response_part("f")), HI
    )
    repaired = repair_fully(example, unsafe=unsafe)
    assert [finding for finding in repaired.findings if finding.severity == "error"] == []
    results = decode(repaired.body, "gemini").results()
    assert [result.text for result in results] == [UNCERTAIN, UNCERTAIN]
    assert 'a result of f, which may belong to any of several calls: {"result":1}' in texts(
        repaired
    )


def texts(repaired: Repaired) -> str:
    """All text of a repaired history of contents."""
    read = decode(repaired.body, "gemini")
    return "\n".join(
        part.text for message in read.messages for part in message.parts if isinstance(part, Text)
    )


def test_different_results_without_ids_all_become_text() -> None:
    example = contents_example(
        HI, model_parts(call_part("f")), user_parts(response_part("f", 1), response_part("f", 2))
    )
    for value in (1, 2):
        note = f'one of several that may belong to the same call: {{"result":{value}}}'
        assert note in texts(repair_fully(example))
    same = contents_example(
        HI, model_parts(call_part("f")), user_parts(response_part("f", 1), response_part("f", 1))
    )
    assert messages(same)[2] == user_parts(response_part("f", 1))


def test_a_result_with_a_wrong_name_gets_the_name_of_its_call_on_an_ordered_wire() -> None:
    example = contents_example(
        HI, model_parts(call_part("search")), user_parts(response_part("call_176130"))
    )
    assert messages(example)[2] == user_parts(response_part("search"))


# --- cost -----------------------------------------------------------------------------------------


def test_a_long_clean_history_is_checked_in_linear_time() -> None:
    def check_turns(count: int) -> None:
        turns: list[JSON] = []
        for n in range(count):
            turns += [USER, assistant(tool_call(f"call_{n}")), tool_message(f"call_{n}"), REPLY]
        assert check(chat_example(*turns, USER).body, "openai-chat") == []

    assert growth(lambda: check_turns(250), lambda: check_turns(1000)) < GROWTH_LIMIT


@pytest.mark.parametrize(
    "more",
    [
        {"audio": {"id": "audio_1"}},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        {"annotations": [{"type": "url"}]},
    ],
)
def test_an_empty_message_with_unknown_fields_is_not_dropped(more: Object) -> None:
    between: JSON = {"role": "assistant", "content": "", **more}
    body = chat_example(USER, assistant(tool_call("a")), between, tool_message("a", "A"))
    (key,) = more
    assert key in repr(repair(body.body, "openai-chat").body)
    empty = chat_example(
        USER,
        assistant(tool_call("a")),
        {"role": "assistant", "content": ""},
        tool_message("a", "A"),
    )
    assert len(_messages(repair(empty.body, "openai-chat"))) == 3


def _messages(repaired: Repaired) -> list[JSON]:
    messages = get(repaired.body, ("messages",))
    assert isinstance(messages, list)
    return messages


def test_a_message_without_a_role_stays_when_a_copied_call_is_removed() -> None:
    asking: JSON = {"content": None, "tool_calls": [tool_call("a"), tool_call("b"), tool_call("b")]}
    body = chat_example(USER, asking, tool_message("a", "A"), tool_message("b", "B"))
    repaired = repair(body.body, "openai-chat")
    assert [finding.name for finding in repaired.findings if finding.name == "orphan-result"] == []
    assert len(_messages(repaired)) == 4


def test_a_message_of_the_user_with_reasoning_beside_a_call_is_the_assistants() -> None:
    thinking: JSON = {"type": "thinking", "thinking": "hm", "signature": "s"}
    wrong = user_blocks(thinking, tool_use("t1"))
    example = blocks_example(USER, wrong, user_blocks(tool_result("t1")))
    assert messages(example) == [
        USER,
        assistant_blocks(thinking, tool_use("t1")),
        user_blocks(tool_result("t1")),
    ]


QUESTION: JSON = {"role": "user", "content": "hi"}


def _call(call_id: JSON) -> JSON:
    function: JSON = {"name": "f", "arguments": "{}"}
    return {"id": call_id, "type": "function", "function": function}


def _called(*call_ids: JSON) -> JSON:
    return {"role": "assistant", "content": None, "tool_calls": [*map(_call, call_ids)]}


def _answered(call_id: JSON, text: str = "1") -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


ONE_FAULT: list[tuple[str, str, JSON]] = [
    (
        "openai-responses",
        "orphan-result",
        {"input": [QUESTION, {"role": "tool", "tool_call_id": "c9", "content": "x"}]},
    ),
    (
        "anthropic",
        "orphan-result",
        {
            "max_tokens": 9,
            "messages": [
                QUESTION,
                {"role": "assistant", "content": "ok"},
                {
                    "role": "tool",
                    "content": [{"type": "tool_result", "tool_use_id": "t9", "content": "x"}],
                },
            ],
        },
    ),
    (
        "openai-chat",
        "id-is-result-content",
        {"messages": [QUESTION, _called("c1"), _answered("Sum: 15", "Sum: 15")]},
    ),
    (
        "openai-chat",
        "id-composite",
        {"messages": [QUESTION, _called("call_A|fc_B"), _answered("call_A")]},
    ),
    (
        "openai-chat",
        "orphan-result",
        {"messages": [QUESTION, _called("functions.read:0"), _answered("functions_read_0")]},
    ),
    ("openai-chat", "result-before-call", {"messages": [QUESTION, _answered("c1"), _called("c1")]}),
    ("openai-chat", "id-missing", {"messages": [QUESTION, _called(None), _answered("call_1")]}),
    ("openai-chat", "id-dup-call", {"messages": [QUESTION, _called("c1", "c1"), _answered("c1")]}),
]


@pytest.mark.parametrize(("wire", "name", "body"), ONE_FAULT, ids=lambda one: str(one)[:40])
def test_one_fault_has_one_finding_and_its_repair_is_clean(
    wire: str, name: str, body: JSON
) -> None:
    assert [finding.name for finding in check(body, wire)] == [name]
    assert not check(repair(body, wire).body, wire)


def test_a_cache_point_after_results_does_not_continue_the_conversation() -> None:
    """The other call still waits: adding a result for it would answer before its tool does."""
    calls: list[JSON] = [
        {"toolUse": {"toolUseId": call_id, "name": "f", "input": {"n": call_id}}}
        for call_id in "ab"
    ]
    result: JSON = {"toolResult": {"toolUseId": "b", "content": [{"text": "1"}]}}
    tool: JSON = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}
    body: JSON = {
        "messages": [
            {"role": "user", "content": [{"text": "hi"}]},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": [result, {"cachePoint": {"type": "default"}}]},
        ],
        "toolConfig": {"tools": [tool]},
    }
    assert [finding.name for finding in check(body, "bedrock")] == ["pending-tail"]
    assert not repair(body, "bedrock").changes


def test_a_second_result_that_the_target_accepts_moves_with_the_first() -> None:
    result = tool_result("t1")
    body: JSON = {
        "max_tokens": 100,
        "messages": [
            USER,
            assistant_blocks(tool_use("t1")),
            user_blocks(result, result, text_block("next?")),
        ],
    }
    repaired = repair(body, "anthropic", target="minimax-anthropic")
    assert repaired.findings == []
    assert get(repaired.body, ("messages", 2, "content")) == [result, result]
    assert {change.name for change in repaired.changes} == {"result-with-extra"}


def test_a_result_without_an_id_does_not_answer_an_approval_request() -> None:
    request: JSON = {
        "type": "mcp_approval_request",
        "id": "mcpr_1",
        "server_label": "deepwiki",
        "name": "ask",
        "arguments": "{}",
    }
    output: JSON = {"type": "function_call_output", "output": "-3 degrees"}
    body: JSON = {
        "model": "any-model",
        "input": [
            {"role": "user", "content": "Weather?"},
            request,
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
            output,
            {"role": "user", "content": "And?"},
        ],
    }
    repaired = repair(body, "openai-responses")
    assert isinstance(repaired.body, dict) and isinstance(repaired.body["input"], list)
    decision, answer = repaired.body["input"][3:5]
    assert decision == {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_1",
        "approve": False,
        "reason": "[toolwire] interrupted: no result of this call was recorded",
    }
    assert answer == {"type": "function_call_output", "call_id": "c1", "output": "-3 degrees"}
    assert repaired.findings == []


def test_a_result_that_order_gives_to_a_call_takes_its_id_from_a_later_call() -> None:
    def call(**fields: JSON) -> JSON:
        return {"role": "assistant", "tool_calls": [{"function": {"name": "f"}, **fields}]}

    results: list[JSON] = [{"role": "tool", "tool_call_id": name} for name in ("b", "a")]
    messages: JSON = [USER, call(), *results, call(id="a")]
    sent = translate({"messages": messages}, "ollama", "bedrock")
    assert [found for found in check(sent.body, "bedrock") if found.fix] == []
