"""Between two turns: the calls that wait, what answers them, and the newest part of a history."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from cases import CASES, DEEP, WIRES, Case, load_recorded, same
from rows import rows

from toolwire import Call, Conversation, UsageError, decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import BodySource
from toolwire.errors import pointer
from toolwire.history import BYTES_A_TOKEN, abandon, cut, pending, resume
from toolwire.lint import check

HISTORIES = [case for case in CASES if case.kind == "request"]
RECORDED = [
    case
    for wire in WIRES
    for case in load_recorded(wire)[: None if DEEP else 12]
    if case.kind == "request"
]
PENDING = [case for case in HISTORIES if pending(case.body, case.wire)]
SINGLE_CALL_WIRES = {"oxp"}
"""Wires whose bodies are one call. They cannot hold a result, which is reported."""
AMBIGUOUS = {
    "openai-chat-request-missing-ids-of-one-tool",
    "mistral-request-missing-ids-of-one-tool",
    "ollama-request-missing-ids-and-one-open-call",
    "meai-request-unknown-contents-and-missing-ids",
    "cohere-request-missing-and-empty-ids",
    "genkit-request-missing-refs",
}
"""Cases with a result that may belong to any of the pending calls."""

EVERY = rows("case", [*HISTORIES, *RECORDED])
USER: JSON = {"role": "user", "content": "hi"}


def call_message(*ids: str) -> JSON:
    calls: list[JSON] = [
        {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        for call_id in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(call_id: str, text: str = "1") -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def text_message(text: str = "ok") -> JSON:
    return {"role": "assistant", "content": text}


def chat(*messages: JSON) -> Object:
    return {"messages": list(messages)}


def pairs_by_content(conversation: Conversation) -> Counter[tuple[str, str, str]]:
    """The pairs of a history, without ids: minted ones depend on the position."""
    pairs = conversation.pairs()
    return Counter(
        (pair.call.name, pair.call.arguments, pair.result.text)
        for pair in pairs
        if pair.call and pair.result
    )


def system_message_count(conversation: Conversation) -> int:
    """The number of system messages at the start."""
    return next(
        (n for n, message in enumerate(conversation.messages) if message.role != "system"),
        len(conversation.messages),
    )


def findings(body: JSON, wire: str) -> Counter[str]:
    return Counter(finding.name for finding in check(body, wire))


# --- pending --------------------------------------------------------------------------------------


@rows("case", [case for case in HISTORIES if case.pairs is not None])
def test_pending_calls_are_those_of_the_last_turn_without_a_result(case: Case) -> None:
    read = decode(case.body, case.wire)
    client = {pointer(call.path): call for call in read.calls() if call.executor == "client"}
    open_calls = [at for at, result, _ in case.pairs or () if at in client and result is None]
    indexes = [n for n, message in enumerate(read.messages) if message.role == "assistant"]
    last = indexes[-1:]
    while last and last[0] > 0 and read.messages[last[0] - 1].role == "assistant":
        last.insert(0, last[0] - 1)
    in_last = {
        pointer(part.path)
        for n in last
        for part in read.messages[n].parts
        if isinstance(part, Call)
    }
    assert sorted(pointer(call.path) for call in pending(case.body, case.wire)) == sorted(
        at for at in open_calls if at in in_last
    )


def test_a_call_before_a_later_assistant_message_is_not_pending() -> None:
    assert pending(chat(USER, call_message("c1"), USER, text_message(), USER), "openai-chat") == []


def test_in_a_batch_with_some_results_the_other_calls_are_pending() -> None:
    assert [
        call.id
        for call in pending(
            chat(USER, call_message("c1", "c2", "c3"), result_message("c2")), "openai-chat"
        )
    ] == ["c1", "c3"]


def test_a_user_message_is_no_result() -> None:
    assert [call.id for call in pending(chat(USER, call_message("c1"), USER), "openai-chat")] == [
        "c1"
    ]


def test_the_calls_of_an_answer_are_pending() -> None:
    body: Object = {
        "choices": [
            {"index": 0, "message": call_message("c1", "c2"), "finish_reason": "tool_calls"}
        ]
    }
    assert [call.id for call in pending(body, "openai-chat", "response")] == ["c1", "c2"]


# --- abandon and resume ---------------------------------------------------------------------------


@rows("case", PENDING)
def test_abandon_leaves_no_pending_call_or_reports_why(case: Case) -> None:
    abandoned = abandon(case.body, case.wire)
    pending_calls = pending(abandoned.body, case.wire)
    one_call = case.wire in SINGLE_CALL_WIRES and isinstance(case.body, dict)
    assert bool(pending_calls) is (one_call or str(case) in AMBIGUOUS)
    assert not pending_calls or abandoned.losses
    assert findings(abandoned.body, case.wire) - findings(case.body, case.wire) == Counter()


@rows("case", [case for case in PENDING if case.wire not in SINGLE_CALL_WIRES])
def test_every_result_given_to_resume_finds_its_call(case: Case) -> None:
    calls = pending(case.body, case.wire)
    if len({call.id for call in calls}) < len(calls):
        with pytest.raises(UsageError, match="repair"):
            resume(case.body, case.wire, {call.id: "x" for call in calls})
        return
    resumed = resume(case.body, case.wire, {call.id: f"result {n}" for n, call in enumerate(calls)})
    pairs = decode(resumed.body, case.wire).pairs()
    results = [
        (pair.call.name, pair.result.text)
        for pair in pairs
        if pair.call and pair.result and "result " in pair.result.text
    ]
    assert sorted(results) == sorted((call.name, f"result {n}") for n, call in enumerate(calls))


@rows("case", [case for case in PENDING if case.wire not in SINGLE_CALL_WIRES])
def test_resume_with_one_result_leaves_the_other_calls_pending(case: Case) -> None:
    calls = pending(case.body, case.wire)
    for n, call in enumerate(calls):
        try:
            resumed = resume(case.body, case.wire, {call.id: "x"}).body
        except UsageError as error:
            assert "repair the history first" in error.why and str(case) in AMBIGUOUS
            continue
        pending_calls = pending(resumed, case.wire)
        assert [other.name for other in pending_calls] == [
            other.name for i, other in enumerate(calls) if i != n
        ]


def test_an_abandoned_call_that_needs_an_image_becomes_text() -> None:
    click: JSON = {"type": "click", "x": 1, "y": 2, "button": "left"}
    computer: JSON = {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": click}
    function: JSON = {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}"}
    body: JSON = {"input": [USER, computer, function]}
    abandoned = abandon(body, "openai-responses", "the user went home")
    (pair,) = decode(abandoned.body, "openai-responses").pairs()
    assert pair.call and pair.call.id == "c2" and pair.result and pair.result.error is False
    assert "the user went home" in str(get(abandoned.body, ("input", 1, "content")))
    assert [pointer(loss.path) for loss in abandoned.losses] == ["/input/1"]


def test_the_result_of_an_abandoned_shell_call_has_its_exit_code() -> None:
    shell: JSON = {"type": "shell_call", "id": "sh_1", "call_id": "c1", "action": {"commands": []}}
    abandoned = abandon({"input": [USER, shell]}, "openai-responses")
    assert get(abandoned.body, ("input", 2, "output", 0, "outcome", "exit_code")) == 1


def test_the_result_of_an_abandoned_call_is_a_marked_error() -> None:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    body: Object = {"max_tokens": 9, "messages": [USER, {"role": "assistant", "content": [use]}]}
    (result,) = decode(abandon(body, "anthropic", "the user went home").body, "anthropic").results()
    assert (result.text, result.error) == ("[toolwire] the user went home", True)
    (result,) = decode(abandon(body, "anthropic").body, "anthropic").results()
    assert result.text.startswith("[toolwire] interrupted") and result.error


def test_a_result_is_inserted_before_later_user_messages() -> None:
    resumed = resume(chat(USER, call_message("c1"), USER), "openai-chat", {"c1": "1"})
    assert resumed.body == chat(USER, call_message("c1"), result_message("c1"), USER)


def test_a_partial_batch_is_completed_in_the_message_that_holds_the_others() -> None:
    uses: list[JSON] = [
        {"type": "tool_use", "id": case, "name": "f", "input": {}} for case in ("t1", "t2")
    ]
    first: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    messages: list[JSON] = [
        USER,
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [first]},
    ]
    body: Object = {"max_tokens": 9, "messages": messages}
    resumed = resume(body, "anthropic", {"t2": "2"})
    content = get(resumed.body, ("messages", 2, "content"))
    assert isinstance(content, list) and content[0] == first
    assert [get(block, ("tool_use_id",)) for block in content] == ["t1", "t2"]


def test_an_id_that_is_not_pending_is_an_error_that_lists_the_pending_ones() -> None:
    with pytest.raises(UsageError, match=r"c9.*c1 \(f\), c2 \(f\)"):
        resume(chat(USER, call_message("c1", "c2")), "openai-chat", {"c9": "1"})
    with pytest.raises(UsageError, match="none"):
        resume(chat(USER), "openai-chat", {"c1": "1"})


def test_a_result_made_from_its_call_keeps_its_error_flag() -> None:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    body: Object = {"max_tokens": 9, "messages": [USER, {"role": "assistant", "content": [use]}]}
    (call,) = pending(body, "anthropic")
    (result,) = decode(
        resume(body, "anthropic", {"t1": call.result("no", error=True)}).body, "anthropic"
    ).results()
    assert result.error
    with pytest.raises(UsageError, match="t1"):
        resume(chat(USER, call_message("c1")), "openai-chat", {"c1": call.result("no")})


def test_a_history_without_pending_calls_is_returned_byte_for_byte() -> None:
    body = b'{ "messages" : [ {"role":"user","content":"hi"} ] }'
    assert abandon(body, "openai-chat").json() == body
    assert resume(body, "openai-chat", {}).json() == body
    assert cut(body, "openai-chat", messages=5).json() == body


# --- cut ------------------------------------------------------------------------------------------


@EVERY
def test_a_cut_at_any_message_keeps_the_newest_verbatim_and_splits_no_pair(case: Case) -> None:
    conversation = decode(case.body, case.wire)
    before, head = findings(case.body, case.wire), system_message_count(conversation)
    pairs = pairs_by_content(conversation)
    for many in range(1, len(conversation.messages) + 1):
        shortened = cut(case.body, case.wire, messages=many)
        part = decode(shortened.body, case.wire)
        removed_count = len(conversation.messages) - len(part.messages)
        kept = (*conversation.messages[:head], *conversation.messages[head + removed_count :])
        assert [message.raw for message in part.messages] == [case.raw for case in kept]
        assert part.tools == conversation.tools and part.settings == conversation.settings
        assert (
            pairs_by_content(part)
            + pairs_by_content(messages_without_gap(conversation, head, removed_count))
            == pairs
        )
        assert findings(shortened.body, case.wire) - before == Counter()
        assert same(cut(shortened.body, case.wire, messages=many).body, shortened.body)


def messages_without_gap(conversation: Conversation, head: int, removed_count: int) -> Conversation:
    """The messages that a cut removed."""
    return Conversation(
        conversation.messages[head : head + removed_count],
        source=BodySource(ordered=conversation.ordered),
    )


@EVERY
def test_a_cut_by_tokens_is_idempotent_and_a_larger_budget_keeps_no_less(case: Case) -> None:
    conversation = decode(case.body, case.wire)
    size = len(json.dumps(case.body)) // BYTES_A_TOKEN
    counts: list[int] = []
    for share in (1, 5, 20, 60, 150):
        shortened = cut(case.body, case.wire, tokens=max(1, size * share // 100))
        counts.append(len(decode(shortened.body, case.wire).messages))
        assert same(
            cut(shortened.body, case.wire, tokens=max(1, size * share // 100)).body, shortened.body
        )
    assert counts == sorted(counts)
    assert counts[-1] == len(conversation.messages)


def turns(count: int) -> list[JSON]:
    """A system prompt, and turns of four messages each."""
    messages: list[JSON] = [{"role": "system", "content": "be kind"}]
    for n in range(count):
        messages += [
            {"role": "user", "content": f"question {n}"},
            call_message(f"a{n}", f"b{n}"),
            result_message(f"b{n}"),
            result_message(f"a{n}"),
            text_message(),
        ]
    return messages


@pytest.mark.parametrize(("many", "left"), [(1, 1), (2, 4), (3, 4), (4, 4), (5, 5), (6, 6), (7, 9)])
def test_a_cut_that_would_start_with_a_result_goes_back_to_its_call(many: int, left: int) -> None:
    body = chat(*turns(3))
    shortened = cut(body, "openai-chat", messages=many)
    assert shortened.body == chat(turns(3)[0], *turns(3)[-left:])
    assert shortened.losses == []


def test_a_cut_history_starts_with_a_user_message_where_the_target_requires_it() -> None:
    messages: list[JSON] = [
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "assistant", "content": [{"text": "b"}]},
        {"role": "user", "content": [{"text": "c"}]},
        {"role": "assistant", "content": [{"text": "d"}]},
    ]
    assert cut({"messages": messages}, "bedrock", messages=1).body == {"messages": messages[2:]}
    assert cut({"messages": messages}, "bedrock", messages=3).body == {"messages": messages}


def test_a_cut_history_does_not_start_with_a_call_where_the_target_refuses_it() -> None:
    contents: list[JSON] = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "b"}]},
        {"role": "user", "parts": [{"text": "c"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": 1}}}]},
    ]
    assert cut({"contents": contents}, "gemini", messages=1).body == {"contents": contents[2:]}
    assert cut({"contents": contents}, "gemini", messages=4).body == {"contents": contents[1:]}


def test_reasoning_stays_with_the_call_after_it() -> None:
    items: list[JSON] = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    assert cut({"input": items}, "openai-responses", messages=1).body == {"input": items[1:]}


def test_a_history_with_a_refused_start_is_unchanged_and_reported() -> None:
    messages: list[JSON] = [{"role": "assistant", "content": [{"text": "b"}]}]
    shortened = cut({"messages": messages}, "bedrock", messages=1)
    assert shortened.body == {"messages": messages}
    assert [loss.pointer for loss in shortened.losses] == ["/messages/0"]


def test_the_system_prompt_and_the_tools_count_as_tokens() -> None:
    short, long = chat(*turns(20)), {**chat(*turns(20)), "user": "x" * 2000}
    few, many = (cut(body, "openai-chat", tokens=1000).body for body in (long, short))
    assert isinstance(few, dict) and isinstance(many, dict)
    assert len(json.dumps(few["messages"])) < len(json.dumps(many["messages"]))
    assert len(json.dumps(few, separators=(",", ":"))) <= 1000 * BYTES_A_TOKEN + 1000


def test_the_last_turn_is_kept_under_any_token_budget() -> None:
    body = chat(*turns(3)[:-1])
    assert cut(body, "openai-chat", tokens=1).body == chat(turns(3)[0], *turns(3)[-4:-1])


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [(None, None), (1, 1), (0, None), (-1, None), (None, 0), (None, -5), (True, None), (1.5, None)],
)
def test_cut_takes_exactly_one_positive_limit(messages: int | None, tokens: int | None) -> None:
    with pytest.raises(UsageError):
        cut(chat(USER), "openai-chat", messages=messages, tokens=tokens)


def test_the_input_is_not_changed() -> None:
    body = chat(*turns(2), call_message("c1", "c2"))
    before = json.dumps(body)
    for outcome in (
        cut(body, "openai-chat", messages=2),
        abandon(body, "openai-chat"),
        resume(body, "openai-chat", {"c1": "1"}),
    ):
        assert outcome.body != body
    assert json.dumps(body) == before


def test_resume_refuses_an_id_that_several_pending_calls_have() -> None:
    call: JSON = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    other: JSON = {"id": "c", "type": "function", "function": {"name": "g", "arguments": "{}"}}
    body: JSON = {"messages": [{"role": "assistant", "tool_calls": [call, other]}]}
    with pytest.raises(UsageError, match="2 calls have the id 'c'"):
        resume(body, "openai-chat", {"c": "found"})


def chat_turn(call_id: str, *results: str) -> list[JSON]:
    call: JSON = {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    tools: list[JSON] = [
        {"role": "tool", "tool_call_id": call_id, "content": text} for text in results
    ]
    question: JSON = {"role": "user", "content": "Go."}
    return [question, {"role": "assistant", "tool_calls": [call]}, *tools]


def test_a_second_result_is_cut_off_with_the_newest_call_of_its_id_only() -> None:
    body: JSON = {"messages": [*chat_turn("c", "one"), *chat_turn("c", "two", "too")]}
    kept = get(cut(body, "openai-chat", messages=4).body, ("messages",))
    assert kept == chat_turn("c", "two", "too")


def test_a_cut_never_gives_a_stray_result_to_another_call() -> None:
    def part(kind: str, name: str, **more: JSON) -> JSON:
        return {kind: {"name": name, **more}}

    contents: list[JSON] = [
        {"role": "user", "parts": [{"text": "Alice?"}]},
        {"role": "model", "parts": [part("functionCall", "balance", args={})]},
        {"role": "user", "parts": [part("functionResponse", "balance", response={"r": "ALICE"})]},
        {"role": "model", "parts": [{"text": "Done."}]},
        {"role": "user", "parts": [{"text": "Pay."}]},
        {"role": "model", "parts": [part("functionCall", "transfer", args={})]},
        {"role": "user", "parts": [part("functionResponse", "balance", response={"r": "BOB"})]},
    ]
    conversation = decode(cut({"contents": contents}, "gemini", messages=3).json(), "gemini")
    answers = {
        pair.call.name: pair.result for pair in conversation.pairs() if pair.call is not None
    }
    assert answers["transfer"] is None


@pytest.mark.parametrize("more", [[], [{"role": "function"}], [{"role": "tool", "content": "1"}]])
def test_resume_refuses_calls_that_an_unpaired_result_without_an_id_may_belong_to(
    more: list[JSON],
) -> None:
    call: JSON = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    body = chat(USER, call, call, {"role": "function", "name": "f", "content": "found"}, *more)
    first, second = pending(body, "openai-chat")
    for ids in ([first.id], [second.id], [first.id, second.id]):
        with pytest.raises(UsageError, match=r"result without an id.*repair the history first"):
            resume(body, "openai-chat", dict.fromkeys(ids, "x"))


def test_resume_refuses_a_call_whose_id_a_call_of_the_provider_has() -> None:
    calls: list[JSON] = [
        {"type": kind, "id": "a", "name": "f", "input": {}}
        for kind in ("tool_use", "server_tool_use")
    ]
    body = chat(USER, {"role": "assistant", "content": calls})
    with pytest.raises(UsageError, match="2 calls have the id 'a'"):
        resume(body, "anthropic", {"a": "x"})


def test_resume_refuses_an_approval_whose_id_an_older_open_request_has() -> None:
    request: JSON = {"type": "mcp_approval_request", "id": "a", "name": "f", "server_label": "s"}
    other: JSON = {**request, "name": "g"}  # type: ignore[dict-item]
    body: JSON = {"input": [request, {"role": "user", "content": "hm"}, other]}
    with pytest.raises(UsageError, match="2 calls have the id 'a'"):
        resume(body, "openai-responses", {"a": "x"})


def test_the_result_of_a_legacy_call_has_the_legacy_role() -> None:
    call: JSON = {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}
    body: JSON = {"messages": [{"role": "user", "content": "hi"}, call]}
    for wire in ("openai-chat", "kimi"):
        (pending_call,) = pending(body, wire)
        resumed = resume(body, wire, {pending_call.id: "ok"}).body
        assert get(resumed, ("messages", 2)) == {"role": "function", "name": "f", "content": "ok"}


def test_a_call_with_an_item_id_only_gets_the_id_that_its_result_names() -> None:
    calls: list[JSON] = [
        {"type": "function_call", "id": item_id, "name": "f", "arguments": "{}"}
        for item_id in ("fc_1", "fc_2")
    ]
    body: JSON = {"input": [{"role": "user", "content": "hi"}, *calls]}
    resumed = resume(body, "openai-responses", {"fc_1": "one", "fc_2": "two"}).body
    pairs = decode(resumed, "openai-responses").pairs()
    assert [(p.call and p.call.item, p.result and p.result.text) for p in pairs] == [
        ("fc_1", "one"),
        ("fc_2", "two"),
    ]
