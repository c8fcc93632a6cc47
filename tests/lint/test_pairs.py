"""The rules about pairs, by the traps that others fell into: where words go, what must not move,
what is left alone."""

from __future__ import annotations

import time

import pytest

from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.parts import Text
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
from toolwire.lint.fixes.transforms import INTERRUPTED, MARK
from toolwire.lint.fixes.uncertain_results import UNCERTAIN
from toolwire.lint.rule import Example

SAID: JSON = {"role": "assistant", "content": "one moment"}


def found(example: Example) -> list[str]:
    """The names of what is found, but for equal calls, which these small histories are full of."""
    names = [one.name for one in check(example.body, example.wire, target=example.target)]
    return [name for name in names if name != "duplicate-identical-calls"]


def mended(example: Example, *, unsafe: bool = False) -> Repaired:
    """The example after repair."""
    return repair(example.body, example.wire, target=example.target, unsafe=unsafe)


def messages(example: Example, *, unsafe: bool = False) -> list[JSON]:
    """The messages of the example after repair."""
    body = mended(example, unsafe=unsafe).body
    held = next(
        (
            get(body, (key,))
            for key in ("messages", "contents", "input")
            if isinstance(body, dict) and key in body
        ),
        None,
    )
    assert isinstance(held, list)
    return held


def note(text: str) -> JSON:
    """What is told instead of a result."""
    return {"role": "user", "content": f"{MARK} {text}"}


# --- results without calls ------------------------------------------------------------------------


def test_an_orphan_is_never_told_between_a_call_and_the_result_of_its_sibling() -> None:
    one = chat_example(
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c1"),
        tool_message("c9", "lost"),
        tool_message("c2"),
        SAID,
        USER,
    )
    told_in_words = note("a result for c9, whose call is not in this history: lost")
    assert messages(one, unsafe=True) == [
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c1"),
        tool_message("c2"),
        told_in_words,
        SAID,
        USER,
    ]


def test_an_orphan_beside_a_call_that_still_waits_is_told_before_it_and_the_call_goes_on_waiting() -> (
    None
):
    one = chat_example(USER, assistant(tool_call("c1")), tool_message("c9", "lost"))
    assert messages(one, unsafe=True)[-1] == assistant(tool_call("c1"))
    assert [finding.name for finding in mended(one, unsafe=True).findings] == ["pending-tail"]


def test_an_orphan_becomes_text_by_default() -> None:
    one = chat_example(USER, tool_message("c9", "lost"))
    assert messages(one) == [USER, note("a result for c9, whose call is not in this history: lost")]
    assert mended(one).findings == []
    assert [change.name for change in mended(one).changes] == ["orphan-result"]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("call_A|fc_B", "call_A"),
        ("functions.read:0", "functions_read_0"),
        ("call_" + "a" * 50, ("call_" + "a" * 50)[:40]),
    ],
)
def test_an_orphan_whose_id_is_another_form_of_that_of_the_open_call_goes_back_to_it(
    theirs: str, ours: str
) -> None:
    one = chat_example(USER, assistant(tool_call(theirs)), tool_message(ours, "1"), USER)
    body = mended(one).body
    assert get(body, ("messages", 1, "tool_calls", 0, "id")) == get(
        body, ("messages", 2, "tool_call_id")
    )
    assert get(body, ("messages", 2, "content")) == "1"


def test_an_orphan_that_two_open_calls_could_have_meant_goes_to_neither() -> None:
    one = chat_example(
        USER,
        assistant(tool_call("a.b:1"), tool_call("a_b_1x")),
        tool_message("a_b_1"),
        tool_message("a_b_1x"),
        USER,
    )
    two = chat_example(
        USER,
        assistant(tool_call("long.id:1"), tool_call("long/id:1")),
        tool_message("long_id_1"),
        USER,
    )
    assert get(messages(one), (2, "tool_call_id")) == get(messages(one), (1, "tool_calls", 0, "id"))
    assert [
        finding.fix
        for finding in check(two.body, "openai-chat")
        if "result" in finding.name and "long_id_1" in finding.message
    ] == ["safe"]
    assert note("a result for long_id_1, whose call is not in this history: 1") in messages(two)


def test_outputs_whose_calls_the_server_keeps_are_no_orphans() -> None:
    assert found(items_request(output_item("c9"), previous_response_id="resp_1")) == []
    assert found(items_request({"type": "item_reference", "id": "fc_1"}, output_item("c9"))) == []


def test_media_of_an_orphan_come_along() -> None:
    picture: JSON = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
    }
    one = blocks_example(
        USER,
        assistant_blocks(text_block("ok")),
        user_blocks(tool_result("t9", content=[text_block("see"), picture])),
    )
    assert picture in list(get(messages(one, unsafe=True), (2, "content")) or [])  # type: ignore[arg-type]


# --- calls without results ------------------------------------------------------------------------


def test_a_batch_that_is_complete_by_its_set_of_ids_only_is_not_complete() -> None:
    batch = assistant(tool_call("c1"), tool_call("c2"))
    one = chat_example(
        USER, batch, tool_message("c1"), tool_message("c2"), batch, tool_message("c2"), USER
    )
    assert found(one) == ["partial-batch"]
    assert messages(one)[4:] == [batch, tool_message("c2"), tool_message("c1", INTERRUPTED), USER]


def test_what_is_answered_in_a_partial_batch_stays_to_the_letter() -> None:
    marked = tool_result("t2", content=[text_block("2")], cache_control={"type": "ephemeral"})
    one = blocks_example(
        USER,
        assistant_blocks(tool_use("t1"), tool_use("t2")),
        user_blocks(marked, text_block("so?")),
    )
    assert messages(one)[2] == user_blocks(
        marked, tool_result("t1", content=INTERRUPTED, is_error=True), text_block("so?")
    )


@pytest.mark.parametrize("unsafe", [False, True])
def test_calls_at_the_end_are_never_answered_for_anybody(unsafe: bool) -> None:
    one = chat_example(USER, assistant(tool_call("c1"), tool_call("c2")), tool_message("c2"))
    assert (mended(one, unsafe=unsafe).body, found(one)) == (one.body, ["pending-tail"])


def test_an_answer_made_here_on_a_wire_of_alternating_roles_shares_the_message_of_the_user() -> (
    None
):
    one = converse_example(assistant_blocks(converse_call("t1")), user_blocks({"text": "well?"}))
    after = messages(one)
    assert [get(message, ("role",)) for message in after] == ["user", "assistant", "user"]
    assert (get(after[2], ("content", 1)), len(after)) == ({"text": "well?"}, 3)
    assert INTERRUPTED in str(get(after[2], ("content", 0, "toolResult")))


def test_nobody_but_the_provider_answers_for_its_own_tools() -> None:
    one = blocks_example(
        USER,
        assistant_blocks(tool_use("srvtoolu_1", "server_tool_use", "web_search"), text_block("hm")),
        USER,
    )
    text = text_block("[toolwire] [web_search was called with {}]")
    assert messages(one) == [USER, assistant_blocks(text, text_block("hm")), USER]
    assert INTERRUPTED not in str(
        mended(
            chat_example(USER, assistant(tool_call("srvtoolu_1", "web_search")), USER), unsafe=True
        ).body
    )


def test_a_paused_answer_and_one_beside_calls_of_the_client_wait_for_the_provider() -> None:
    run = tool_use("srvtoolu_1", "server_tool_use", "code_execution")
    done = tool_result(
        "srvtoolu_1", "code_execution_tool_result", {"type": "code_execution_result", "stdout": "1"}
    )
    assert "server-tool-unpaired" not in found(blocks_example(USER, assistant_blocks(run)))
    assert "server-tool-unpaired" not in found(
        blocks_example(USER, assistant_blocks(run, tool_use("t1")), user_blocks(tool_result("t1")))
    )
    assert "server-tool-unpaired" not in found(
        blocks_example(
            USER,
            assistant_blocks(run, tool_use("t1")),
            user_blocks(tool_result("t1")),
            assistant_blocks(done),
            USER,
        )
    )


# --- places ---------------------------------------------------------------------------------------


def test_late_results_move_up_and_what_stood_between_comes_after_them_in_its_order() -> None:
    system: JSON = {"role": "system", "content": "be quick"}
    one = chat_example(
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        system,
        tool_message("c2"),
        SAID,
        {**OBJECT, "tool_call_id": "c1"},
        USER,
    )
    assert messages(one) == [
        USER,
        assistant(tool_call("c1"), tool_call("c2")),
        tool_message("c2"),
        {**OBJECT, "tool_call_id": "c1"},
        system,
        SAID,
        USER,
    ]


OBJECT: Object = {
    "role": "tool",
    "content": [{"type": "text", "text": "1"}],
    "x_unknown": {"kept": [1, None]},
}


def test_messages_that_do_not_move_keep_fields_that_nobody_knows() -> None:
    strange: JSON = {"role": "user", "content": "hi", "x_unknown": 1.0}
    one = chat_example(strange, assistant(tool_call("c1"), x_more=None), USER, tool_message("c1"))
    assert messages(one) == [
        strange,
        assistant(tool_call("c1"), x_more=None),
        tool_message("c1"),
        USER,
    ]


def test_calls_of_one_batch_become_one_message_and_keep_what_was_thought_and_what_nobody_knows() -> (
    None
):
    first: JSON = {
        "id": "c1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"sealed": "x"},
    }
    one = chat_example(
        USER,
        assistant(first, reasoning_content="f first", x_more=1),
        assistant(tool_call("c2"), content="now g"),
        tool_message("c1"),
        tool_message("c2"),
    )
    assert messages(one)[1:] == [
        assistant(first, tool_call("c2"), content="now g", reasoning_content="f first", x_more=1),
        tool_message("c1"),
        tool_message("c2"),
    ]


def test_calls_that_were_answered_one_by_one_stay_apart() -> None:
    one = chat_example(
        USER,
        assistant(tool_call("c1")),
        tool_message("c1"),
        assistant(tool_call("c2")),
        tool_message("c2"),
    )
    assert found(one) == []


def test_results_come_first_and_in_one_message_and_keep_their_marks() -> None:
    marked = tool_result("t1", cache_control={"type": "ephemeral"})
    one = blocks_example(
        USER,
        assistant_blocks(tool_use("t1"), tool_use("t2")),
        user_blocks(text_block("see"), tool_result("t2")),
        user_blocks(marked, text_block("so?")),
    )
    after = messages(one)
    assert after[2] == user_blocks(tool_result("t2"), marked, text_block("see"))
    assert after[3:] == [{"role": "user", "content": "so?"}]


def test_results_stand_alone_where_that_is_wanted_and_in_the_order_of_their_calls() -> None:
    one = contents_example(
        HI,
        model_parts(call_part("f"), call_part("g")),
        user_parts({"text": "so"}, response_part("g", 2)),
        user_parts(response_part("f", 1)),
    )
    assert messages(one)[2:] == [
        user_parts(response_part("f", 1), response_part("g", 2)),
        user_parts({"text": "so"}),
    ]


def test_ids_outweigh_order_where_the_target_reads_them_and_only_there() -> None:
    calls = model_parts(call_part("f", "a"), call_part("f", "b"))
    swapped = user_parts(response_part("f", 2, "b"), response_part("f", 1, "a"))
    assert found(contents_example(HI, calls, swapped)) == []
    assert "results-out-of-order" in found(
        contents_example(HI, calls, swapped, target="vertex-gemini-v1")
    )


def test_words_between_a_call_and_its_output_matter_to_one_target_and_not_to_the_other() -> None:
    one = items_request(call_item("c1"), SAID, output_item("c1"), target="deepseek-responses")
    assert found(items_request(call_item("c1"), SAID, output_item("c1"))) == []
    assert "result-separated" in found(one)
    assert messages(one) == [USER, call_item("c1"), output_item("c1"), SAID]


def test_neighbouring_messages_of_the_assistant_are_one_where_the_provider_says_so() -> None:
    one = blocks_example(
        USER,
        assistant_blocks(tool_use("t1")),
        assistant_blocks(tool_use("t2")),
        user_blocks(tool_result("t1"), tool_result("t2")),
    )
    assert found(one) == []


def test_the_assistant_speaks_for_itself_after_all_results_and_not_between_them() -> None:
    ids = ("aaaaaaaa1", "aaaaaaaa2")
    one = Example(
        "mistral",
        "mistral-legacy",
        {"messages": [USER, assistant(*map(tool_call, ids)), *map(tool_message, ids), USER]},
    )
    assert [get(message, ("role",)) for message in messages(one, unsafe=True)] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ]


# --- what nobody can know -------------------------------------------------------------------------


@pytest.mark.parametrize("unsafe", [False, True])
def test_an_ambiguous_result_becomes_text_and_goes_to_no_call(unsafe: bool) -> None:
    one = contents_example(
        HI, model_parts(call_part("f"), call_part("f")), user_parts(response_part("f")), HI
    )
    done = mended(one, unsafe=unsafe)
    assert [finding for finding in done.findings if finding.severity == "error"] == []
    results = decode(done.body, "gemini").results()
    assert [result.text for result in results] == [UNCERTAIN, UNCERTAIN]
    assert 'a result of f, which may belong to any of several calls: {"result":1}' in texts(done)


def texts(done: Repaired) -> str:
    """All text of a repaired history of contents."""
    read = decode(done.body, "gemini")
    return "\n".join(
        part.text for message in read.messages for part in message.parts if isinstance(part, Text)
    )


def test_results_without_ids_that_differ_are_not_chosen_from() -> None:
    one = contents_example(
        HI, model_parts(call_part("f")), user_parts(response_part("f", 1), response_part("f", 2))
    )
    for value in (1, 2):
        note = f'one of several that may belong to the same call: {{"result":{value}}}'
        assert note in texts(mended(one))
    same = contents_example(
        HI, model_parts(call_part("f")), user_parts(response_part("f", 1), response_part("f", 1))
    )
    assert messages(same)[2] == user_parts(response_part("f", 1))


def test_a_result_of_another_name_on_an_ordered_wire_gets_that_of_its_call() -> None:
    one = contents_example(
        HI, model_parts(call_part("search")), user_parts(response_part("call_176130"))
    )
    assert messages(one)[2] == user_parts(response_part("search"))


# --- cost -----------------------------------------------------------------------------------------


def test_a_long_clean_history_is_looked_through_in_no_time() -> None:
    turns: list[JSON] = []
    for n in range(250):
        turns += [USER, assistant(tool_call(f"call_{n}")), tool_message(f"call_{n}"), SAID]
    body = chat_example(*turns, USER).body
    best = 9.0
    for _ in range(3):
        began = time.perf_counter()
        assert check(body, "openai-chat") == []
        best = min(best, time.perf_counter() - began)
    assert best < 0.5  # far more than it takes; a quadratic walk takes longer


@pytest.mark.parametrize(
    "more",
    [
        {"audio": {"id": "audio_1"}},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]},
        {"annotations": [{"type": "url"}]},
    ],
)
def test_a_message_between_a_call_and_its_result_that_carries_something_unsaid_is_not_dropped(
    more: Object,
) -> None:
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
    found = get(repaired.body, ("messages",))
    assert isinstance(found, list)
    return found


def test_a_message_without_a_role_is_not_lost_when_a_copy_of_its_call_is_taken_out() -> None:
    asking: JSON = {"content": None, "tool_calls": [tool_call("a"), tool_call("b"), tool_call("b")]}
    body = chat_example(USER, asking, tool_message("a", "A"), tool_message("b", "B"))
    repaired = repair(body.body, "openai-chat")
    assert [one.name for one in repaired.findings if one.name == "orphan-result"] == []
    assert len(_messages(repaired)) == 4
