"""Between two turns: the calls that wait, what answers them, and the newest part of a history."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from cases import CASES, DEEP, WIRES, Case, recorded, same
from rows import rows

from toolwire import Call, Conversation, LocalError, decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import BodySource
from toolwire.errors import pointer
from toolwire.history import BYTES_A_TOKEN, abandon, cut, pending, resume
from toolwire.lint import check

HISTORIES = [case for case in CASES if case.kind == "request"]
KEPT = [
    one for wire in WIRES for one in recorded(wire)[: None if DEEP else 12] if one.kind == "request"
]
WAITING = [case for case in HISTORIES if pending(case.body, case.wire)]
MADE_TO_HOLD_ONE_CALL = {"oxp"}
"""Wires whose bodies are one call: a result has no place there, and that is said."""
AMBIGUOUS = {
    "openai-chat-request-twins-without-ids-stay-apart",
    "mistral-request-two-of-one-tool-without-ids",
    "ollama-request-twins-of-which-one-is-open",
    "meai-request-unknown-contents-and-missing-ids",
    "cohere-request-missing-and-empty-ids",
}
"""Cases with a result that may be of any of the calls that wait."""

EVERY = rows("case", [*HISTORIES, *KEPT])
USER: JSON = {"role": "user", "content": "hi"}


def asks(*ids: str) -> JSON:
    calls: list[JSON] = [
        {"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(one: str, text: str = "1") -> JSON:
    return {"role": "tool", "tool_call_id": one, "content": text}


def says(text: str = "ok") -> JSON:
    return {"role": "assistant", "content": text}


def chat(*messages: JSON) -> Object:
    return {"messages": list(messages)}


def joined(conversation: Conversation) -> Counter[tuple[str, str, str]]:
    """The pairs of a history, without ids: those that were made depend on the place."""
    pairs = conversation.pairs()
    return Counter(
        (pair.call.name, pair.call.arguments, pair.result.text)
        for pair in pairs
        if pair.call and pair.result
    )


def opening(conversation: Conversation) -> int:
    """How many messages of the system come first."""
    return next(
        (n for n, one in enumerate(conversation.messages) if one.role != "system"),
        len(conversation.messages),
    )


def faults(body: JSON, wire: str) -> Counter[str]:
    return Counter(finding.name for finding in check(body, wire))


# --- pending --------------------------------------------------------------------------------------


@rows("case", [case for case in HISTORIES if case.pairs is not None])
def test_what_is_pending_has_no_result_in_truth_and_stands_in_the_last_turn(case: Case) -> None:
    read = decode(case.body, case.wire)
    client = {pointer(call.path): call for call in read.calls() if call.executor == "client"}
    open_calls = [at for at, result, _ in case.pairs or () if at in client and result is None]
    said = [n for n, message in enumerate(read.messages) if message.role == "assistant"]
    last = said[-1:]
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


def test_a_call_that_the_assistant_has_left_behind_is_not_pending() -> None:
    assert pending(chat(USER, asks("c1"), USER, says(), USER), "openai-chat") == []


def test_the_calls_of_a_batch_that_is_partly_answered_are_pending() -> None:
    assert [
        call.id for call in pending(chat(USER, asks("c1", "c2", "c3"), told("c2")), "openai-chat")
    ] == ["c1", "c3"]


def test_a_user_who_speaks_meanwhile_does_not_answer_a_call() -> None:
    assert [call.id for call in pending(chat(USER, asks("c1"), USER), "openai-chat")] == ["c1"]


def test_the_calls_of_an_answer_are_pending() -> None:
    body: Object = {
        "choices": [{"index": 0, "message": asks("c1", "c2"), "finish_reason": "tool_calls"}]
    }
    assert [call.id for call in pending(body, "openai-chat", "response")] == ["c1", "c2"]


# --- abandon and resume ---------------------------------------------------------------------------


@rows("case", WAITING)
def test_after_abandoning_nothing_waits_or_it_is_said_why(case: Case) -> None:
    done = abandon(case.body, case.wire)
    left = pending(done.body, case.wire)
    one_call = case.wire in MADE_TO_HOLD_ONE_CALL and isinstance(case.body, dict)
    assert bool(left) is (one_call or str(case) in AMBIGUOUS)
    assert not left or done.losses
    assert faults(done.body, case.wire) - faults(case.body, case.wire) == Counter()


@rows("case", [one for one in WAITING if one.wire not in MADE_TO_HOLD_ONE_CALL])
def test_every_result_that_is_given_finds_its_call(case: Case) -> None:
    waits = pending(case.body, case.wire)
    if len({call.id for call in waits}) < len(waits):
        with pytest.raises(LocalError, match="repair"):
            resume(case.body, case.wire, {call.id: "x" for call in waits})
        return
    done = resume(case.body, case.wire, {call.id: f"result {n}" for n, call in enumerate(waits)})
    pairs = decode(done.body, case.wire).pairs()
    found = [
        (pair.call.name, pair.result.text)
        for pair in pairs
        if pair.call and pair.result and "result " in pair.result.text
    ]
    assert sorted(found) == sorted((call.name, f"result {n}") for n, call in enumerate(waits))


@pytest.mark.parametrize("wire", WIRES)
def test_one_result_may_be_given_and_the_others_go_on_waiting(wire: str) -> None:
    for case in WAITING:
        waits = pending(case.body, case.wire)
        if (
            case.wire != wire
            or wire in MADE_TO_HOLD_ONE_CALL
            or str(case) in AMBIGUOUS
            or len(waits) < 2
        ):
            continue
        for n, call in enumerate(waits):
            left = pending(resume(case.body, wire, {call.id: "x"}).body, wire)
            assert [one.name for one in left] == [
                one.name for i, one in enumerate(waits) if i != n
            ], str(case)


def test_an_abandoned_call_is_an_error_and_marked() -> None:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    body: Object = {"max_tokens": 9, "messages": [USER, {"role": "assistant", "content": [use]}]}
    (result,) = decode(abandon(body, "anthropic", "the user went home").body, "anthropic").results()
    assert (result.text, result.error) == ("[toolwire] the user went home", True)
    (result,) = decode(abandon(body, "anthropic").body, "anthropic").results()
    assert result.text.startswith("[toolwire] interrupted") and result.error


def test_an_answer_stands_before_what_the_user_said_meanwhile() -> None:
    done = resume(chat(USER, asks("c1"), USER), "openai-chat", {"c1": "1"})
    assert done.body == chat(USER, asks("c1"), told("c1"), USER)


def test_a_partial_batch_is_completed_in_the_message_that_holds_the_others() -> None:
    uses: list[JSON] = [
        {"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ("t1", "t2")
    ]
    first: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": "1"}
    messages: list[JSON] = [
        USER,
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [first]},
    ]
    body: Object = {"max_tokens": 9, "messages": messages}
    done = resume(body, "anthropic", {"t2": "2"})
    content = get(done.body, ("messages", 2, "content"))
    assert isinstance(content, list) and content[0] == first
    assert [get(block, ("tool_use_id",)) for block in content] == ["t1", "t2"]


def test_an_id_under_which_nothing_waits_is_refused_with_those_that_wait() -> None:
    with pytest.raises(LocalError, match=r"c9.*c1 \(f\), c2 \(f\)"):
        resume(chat(USER, asks("c1", "c2")), "openai-chat", {"c9": "1"})
    with pytest.raises(LocalError, match="none"):
        resume(chat(USER), "openai-chat", {"c1": "1"})


def test_a_result_that_was_made_from_its_call_keeps_its_error() -> None:
    use: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
    body: Object = {"max_tokens": 9, "messages": [USER, {"role": "assistant", "content": [use]}]}
    (call,) = pending(body, "anthropic")
    (result,) = decode(
        resume(body, "anthropic", {"t1": call.result("no", error=True)}).body, "anthropic"
    ).results()
    assert result.error
    with pytest.raises(LocalError, match="t1"):
        resume(chat(USER, asks("c1")), "openai-chat", {"c1": call.result("no")})


def test_a_history_in_which_nothing_waits_comes_back_to_the_byte() -> None:
    body = b'{ "messages" : [ {"role":"user","content":"hi"} ] }'
    assert abandon(body, "openai-chat").json() == body
    assert resume(body, "openai-chat", {}).json() == body
    assert cut(body, "openai-chat", messages=5).json() == body


# --- cut ------------------------------------------------------------------------------------------


@EVERY
def test_a_cut_at_any_message_keeps_the_newest_to_the_letter_and_splits_no_pair(case: Case) -> None:
    whole = decode(case.body, case.wire)
    before, head = faults(case.body, case.wire), opening(whole)
    pairs = joined(whole)
    for many in range(1, len(whole.messages) + 1):
        done = cut(case.body, case.wire, messages=many)
        part = decode(done.body, case.wire)
        gone = len(whole.messages) - len(part.messages)
        kept = (*whole.messages[:head], *whole.messages[head + gone :])
        assert [one.raw for one in part.messages] == [one.raw for one in kept]
        assert part.tools == whole.tools and part.settings == whole.settings
        assert joined(part) + joined(dropped(whole, head, gone)) == pairs
        assert faults(done.body, case.wire) - before == Counter()
        assert same(cut(done.body, case.wire, messages=many).body, done.body)


def dropped(whole: Conversation, head: int, gone: int) -> Conversation:
    """What a cut left behind."""
    return Conversation(
        whole.messages[head : head + gone], source=BodySource(ordered=whole.ordered)
    )


@EVERY
def test_a_cut_by_tokens_is_idempotent_and_never_keeps_less_than_there_is_room_for(
    case: Case,
) -> None:
    whole = decode(case.body, case.wire)
    size = len(json.dumps(case.body)) // BYTES_A_TOKEN
    counts: list[int] = []
    for share in (1, 5, 20, 60, 150):
        done = cut(case.body, case.wire, tokens=max(1, size * share // 100))
        counts.append(len(decode(done.body, case.wire).messages))
        assert same(cut(done.body, case.wire, tokens=max(1, size * share // 100)).body, done.body)
    assert counts == sorted(counts)
    assert counts[-1] == len(whole.messages)


def turns(count: int) -> list[JSON]:
    """A system prompt, and turns of four messages each."""
    found: list[JSON] = [{"role": "system", "content": "be kind"}]
    for n in range(count):
        found += [
            {"role": "user", "content": f"question {n}"},
            asks(f"a{n}", f"b{n}"),
            told(f"b{n}"),
            told(f"a{n}"),
            says(),
        ]
    return found


@pytest.mark.parametrize(("many", "left"), [(1, 1), (2, 4), (3, 4), (4, 4), (5, 5), (6, 6), (7, 9)])
def test_a_cut_goes_back_to_the_call_when_it_would_begin_with_a_result(
    many: int, left: int
) -> None:
    body = chat(*turns(3))
    done = cut(body, "openai-chat", messages=many)
    assert done.body == chat(turns(3)[0], *turns(3)[-left:])
    assert done.losses == []


def test_a_cut_history_begins_with_the_user_where_the_target_wants_that() -> None:
    said: list[JSON] = [
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "assistant", "content": [{"text": "b"}]},
        {"role": "user", "content": [{"text": "c"}]},
        {"role": "assistant", "content": [{"text": "d"}]},
    ]
    assert cut({"messages": said}, "bedrock", messages=1).body == {"messages": said[2:]}
    assert cut({"messages": said}, "bedrock", messages=3).body == {"messages": said}


def test_a_cut_history_does_not_begin_with_a_call_where_the_target_refuses_that() -> None:
    said: list[JSON] = [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "b"}]},
        {"role": "user", "parts": [{"text": "c"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": 1}}}]},
    ]
    assert cut({"contents": said}, "gemini", messages=1).body == {"contents": said[2:]}
    assert cut({"contents": said}, "gemini", messages=4).body == {"contents": said[1:]}


def test_what_the_model_thought_stays_with_what_it_did() -> None:
    items: list[JSON] = [
        {"role": "user", "content": "a"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]
    assert cut({"input": items}, "openai-responses", messages=1).body == {"input": items[1:]}


def test_a_history_that_cannot_begin_as_it_does_gets_nothing_put_in_and_says_so() -> None:
    said: list[JSON] = [{"role": "assistant", "content": [{"text": "b"}]}]
    done = cut({"messages": said}, "bedrock", messages=1)
    assert done.body == {"messages": said}
    assert [loss.pointer for loss in done.losses] == ["/messages/0"]


def test_the_system_prompt_and_the_tools_count_as_tokens() -> None:
    short, long = chat(*turns(20)), {**chat(*turns(20)), "user": "x" * 2000}
    few, many = (cut(body, "openai-chat", tokens=1000).body for body in (long, short))
    assert isinstance(few, dict) and isinstance(many, dict)
    assert len(json.dumps(few["messages"])) < len(json.dumps(many["messages"]))
    assert len(json.dumps(few, separators=(",", ":"))) <= 1000 * BYTES_A_TOKEN + 1000


def test_at_least_the_last_turn_is_kept_however_few_tokens_there_are() -> None:
    body = chat(*turns(3)[:-1])
    assert cut(body, "openai-chat", tokens=1).body == chat(turns(3)[0], *turns(3)[-4:-1])


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [(None, None), (1, 1), (0, None), (-1, None), (None, 0), (None, -5), (True, None), (1.5, None)],
)
def test_how_much_to_keep_is_said_once_and_is_positive(
    messages: int | None, tokens: int | None
) -> None:
    with pytest.raises(LocalError):
        cut(chat(USER), "openai-chat", messages=messages, tokens=tokens)


def test_nothing_that_is_given_is_changed() -> None:
    body = chat(*turns(2), asks("c1", "c2"))
    before = json.dumps(body)
    for done in (
        cut(body, "openai-chat", messages=2),
        abandon(body, "openai-chat"),
        resume(body, "openai-chat", {"c1": "1"}),
    ):
        assert done.body != body
    assert json.dumps(body) == before
