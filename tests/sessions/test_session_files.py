"""Session files: what is found in them, what a repair changes, and what stays verbatim."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from cases import CASES, Case
from hypothesis import given
from hypothesis import strategies as st
from rows import rows
from sessions.session_files import (
    TIME,
    chat_call,
    chat_result,
    claude_answer,
    claude_parallel,
    claude_user,
    codex,
    codex_call,
    codex_message,
    codex_result,
    codex_session,
    gemini_call,
    gemini_records,
    gemini_session,
    jsonl,
    text,
    tool_result,
    tool_use,
)

from toolwire import DecodeError, Session, Text, UsageError, check, open_session
from toolwire.conversation.json import JSON, put
from toolwire.wires import wire

CHAT: list[JSON] = [
    {"role": "user", "content": "Look – twice."},
    chat_call("call_1", "call_2"),
    chat_result("call_1"),
    chat_result("call_2"),
    {"role": "assistant", "content": "Seven."},
    {"role": "user", "content": "Thanks."},
]
SESSIONS: dict[str, list[JSON]] = {
    "jsonl": CHAT,
    "claude-code": claude_parallel(),
    "codex": codex_session(),
    "gemini-cli": gemini_session(gemini_call("a"), gemini_call("b")),
}


def session(rows_or_data: Sequence[JSON] | bytes, **options: int) -> Session:
    data = rows_or_data if isinstance(rows_or_data, bytes) else jsonl(rows_or_data)
    return Session(data, "session.jsonl", **options)  # type: ignore[arg-type]


def lines(data: bytes) -> list[bytes]:
    return data.split(b"\n")


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", SESSIONS)
def test_a_session_is_found_with_its_format_and_is_clean(form: str) -> None:
    found = session(SESSIONS[form])
    assert found.format == form
    assert [finding for finding in found.check() if finding.severity == "error"] == []
    assert [pair.result is not None for pair in found.conversation.pairs()].count(False) == 0
    assert len(found.conversation.pairs()) == 2


def untidy(rows: Sequence[JSON]) -> bytes:
    """The same values in another layout: spaces, escapes, blank lines, CRLF, no last break."""
    out = [json.dumps(row, indent=None).encode() for row in rows]
    return b"\r\n".join([out[0] + b"  ", b"", *out[1:]])


@pytest.mark.parametrize("layout", [jsonl, untidy])
@pytest.mark.parametrize("form", SESSIONS)
def test_what_is_not_edited_stays_byte_for_byte(
    form: str, layout: Callable[[Sequence[JSON]], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "session.jsonl"
    data = layout(SESSIONS[form])
    file.write_bytes(data)
    opened = open_session(file)
    opened.body = opened.body
    opened.conversation = opened.conversation
    assert opened.repair().changes == []
    assert opened.save() is None
    assert file.read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["session.jsonl"]


@given(st.data())
def test_a_repair_leaves_the_other_lines_verbatim_and_nothing_to_fix(data: st.DataObject) -> None:
    broken = [*SESSIONS[data.draw(st.sampled_from(list(SESSIONS)))]]
    for _ in range(data.draw(st.integers(1, 4))):
        n = data.draw(st.integers(1, len(broken) - 1))
        match data.draw(st.sampled_from(["remove", "repeat", "swap"])):
            case "remove" if len(broken) > 2:
                del broken[n]
            case "repeat":
                broken.insert(data.draw(st.integers(0, len(broken))), broken[n])
            case _:
                broken[n], broken[n - 1] = broken[n - 1], broken[n]
    layout = data.draw(st.sampled_from([jsonl, untidy]))
    try:
        opened = session(layout(broken))
    except UsageError:  # too little is left to tell the wire
        return
    before = lines(opened.content)
    changes = opened.repair().changes
    after = lines(opened.content)
    assert [finding for finding in opened.check() if finding.fix == "safe"] == []
    assert opened.repair().changes == []
    kept = sum(line in after for line in before)
    # For each change of the history a line may change, and one more that names its new parent; the
    # last line may get a line break.
    assert len(before) - kept <= 2 * len(changes) + bool(changes)
    assert bool(changes) == (before != after)


JUNK: list[JSON] = [None, 0, True, "", "x", [], {}, [None], {"type": "x"}, "\ud800", 10**30]


def damage(value: JSON, draw: Callable[[int], int]) -> JSON:
    """A value with junk somewhere in it; `draw` chooses a number below another one."""
    inside: list[tuple[str | int, JSON]] = []
    if isinstance(value, dict):
        inside = list(value.items())
    elif isinstance(value, list):
        inside = list(enumerate(value))
    if not inside or draw(4) == 0:
        return JUNK[draw(len(JUNK))]
    step, item = inside[draw(len(inside))]
    return put(value, (step,), damage(item, draw))


@given(st.data())
def test_a_damaged_session_is_refused_or_repaired(data: st.DataObject) -> None:
    rows = [*SESSIONS[data.draw(st.sampled_from(list(SESSIONS)))]]
    for _ in range(data.draw(st.integers(1, 3))):
        n = data.draw(st.integers(0, len(rows) - 1))
        rows[n] = damage(rows[n], lambda count: data.draw(st.integers(0, count - 1)))
    try:
        opened = session("".join(f"{json.dumps(row)}\n" for row in rows).encode())
    except (UsageError, DecodeError):
        return
    before = opened.content
    opened.body = opened.body
    assert opened.content == before
    opened.repair()
    assert opened.repair().changes == []


LISTS = [
    case
    for case in CASES
    if case.kind == "request" and wire(case.wire).messages_field and isinstance(case.body, dict)
]


@rows("case", LISTS)
def test_every_history_on_lines_is_repaired_line_by_line(case: Case) -> None:
    assert isinstance(case.body, dict)
    messages = case.body.get(wire(case.wire).messages_field)
    if not isinstance(messages, list) or len(messages) < 2:
        return
    for n in range(1, len(messages)):
        broken = [*messages[:n], *messages[n + 1 :]]
        try:
            opened = Session(jsonl(broken), "a.jsonl", wire=case.wire)
        except (UsageError, DecodeError):
            continue
        if opened.format != "jsonl":
            continue
        before = opened.content
        assert opened.check() == opened.locate(check(broken, case.wire))
        changed = bool(opened.repair().changes)
        assert changed == (opened.content != before)
        assert [f.name for f in opened.check() if f.fix == "safe"] == []


# --- messages on lines ----------------------------------------------------------------------------


def test_findings_name_the_line_and_the_place_in_it() -> None:
    [finding] = session([*CHAT[:2], *CHAT[3:]]).check()
    assert (finding.line, finding.pointer) == (2, "/tool_calls/0")
    assert str(finding).startswith("2:/tool_calls/0: TW023 ")


def test_a_missing_result_becomes_a_new_line_in_its_place() -> None:
    opened = session([*CHAT[:2], *CHAT[3:]])
    [change] = opened.repair().changes
    assert change.line == 2
    before, after = lines(jsonl([*CHAT[:2], *CHAT[3:]])), lines(opened.content)
    assert len(after) == len(before) + 1
    assert [line for line in after if line not in before] == [
        b'{"role":"tool","tool_call_id":"call_1","content":"[toolwire] interrupted: no result of this'
        b' call was recorded"}'
    ]


def test_messages_on_lines_are_a_session_also_if_they_are_responses_items() -> None:
    items = [row["payload"] for row in codex_session() if row["type"] == "response_item"]  # type: ignore[index,call-overload]
    opened = session(items)
    assert (opened.format, opened.wire) == ("jsonl", "openai-responses")


def test_a_line_that_is_not_json_is_named() -> None:
    with pytest.raises(DecodeError, match=r"^session.jsonl:2: broken JSON"):
        session(jsonl(CHAT[:1]) + b'{"role":\n' + jsonl(CHAT[1:]))


def test_lines_of_which_none_is_a_body_are_not_called_bodies() -> None:
    summary: JSON = {"type": "summary", "summary": "A greeting.", "leafUuid": "u"}
    with pytest.raises(UsageError, match="none of 2 lines is a body of a known wire"):
        session([summary, summary])


def test_messages_that_several_wires_share_need_a_name() -> None:
    with pytest.raises(
        UsageError, match=r"^session.jsonl: this could be a body of .*: name the wire"
    ):
        session([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}])


def test_a_conversation_can_be_edited_and_saved() -> None:
    opened = session(CHAT)
    call = opened.conversation.calls()[0]
    opened.conversation = opened.conversation.replace_result(call, "8")
    before, after = lines(jsonl(CHAT)), lines(opened.content)
    assert [n for n, line in enumerate(after) if line != before[n]] == [2]
    assert b'"content":"8"' in after[2]


# --- Claude Code ----------------------------------------------------------------------------------


def has_parents(data: bytes) -> bool:
    """True if every line names a parent that is in the file."""
    values = [json.loads(line) for line in lines(data) if line]
    uuids = {value.get("uuid") for value in values} | {None}
    return all(value.get("parentUuid") in uuids for value in values)


def test_blocks_of_one_answer_are_one_message_and_parallel_results_follow_it() -> None:
    messages = session(claude_parallel()).conversation.messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant"]
    assert len(messages[1].parts) == 3


def test_a_result_that_was_never_written_is_added_and_linked() -> None:
    rows = [
        claude_user("u1", None, "Run it."),
        claude_answer("a1", "u1", tool_use("toolu_01A"), answer="msg_1"),
        claude_user("u2", "a1", "Are you there?"),
        claude_answer("a2", "u2", text("Yes."), answer="msg_2"),
    ]
    opened = session(rows)
    assert [(f.line, f.name) for f in opened.check()] == [(2, "missing-result")]
    opened.repair()
    values = [json.loads(line) for line in lines(opened.content) if line]
    assert [value["type"] for value in values] == ["user", "assistant", "user", "user", "assistant"]
    assert values[2]["message"]["content"][0]["tool_use_id"] == "toolu_01A"
    assert (values[2]["parentUuid"], values[3]["parentUuid"]) == ("a1", values[2]["uuid"])
    assert values[2]["sessionId"] == values[1]["sessionId"]
    assert opened.content.split(b"\n")[2].startswith(b'{"parentUuid":')
    assert has_parents(opened.content)
    assert opened.check() == []


def test_a_result_without_its_call_becomes_text_in_its_own_line() -> None:
    rows = [
        claude_user("u1", None, "Run it.", isCompactSummary=True),
        claude_user("u2", "u1", tool_result("toolu_01A")),
        claude_answer("a2", "u2", text("Yes."), answer="msg_2"),
    ]
    opened = session(rows)
    opened.repair()
    before, after = lines(jsonl(rows)), lines(opened.content)
    assert [n for n, line in enumerate(after) if line != before[n]] == [1]
    assert b"[toolwire] a result for toolu_01A" in after[1]


def test_only_the_newest_branch_counts_and_subagents_do_not() -> None:
    rows = [
        claude_user("u1", None, "Run it."),
        claude_answer("a1", "u1", tool_use("toolu_01A"), answer="msg_1"),  # taken back
        claude_answer("s1", "u1", tool_use("toolu_01S"), answer="msg_s", isSidechain=True),
        claude_answer("a2", "u1", text("No."), answer="msg_2"),
        claude_user("u3", "a2", "Fine."),
    ]
    opened = session(rows)
    assert len(opened.conversation.messages) == 3
    assert opened.check() == []


def test_the_file_of_a_subagent_is_a_session_too() -> None:
    rows = [
        claude_user("u1", None, "Run it.", isSidechain=True),
        claude_answer("a1", "u1", tool_use("toolu_01A"), answer="msg_1", isSidechain=True),
        claude_user("u2", "a1", "Well?", isSidechain=True),
    ]
    assert [finding.name for finding in session(rows).check()] == ["missing-result"]


def test_lines_that_are_removed_leave_no_gap_in_the_chain() -> None:
    opened = session(claude_parallel())
    body = opened.body
    assert isinstance(body, list)
    opened.body = body[3:]
    assert has_parents(opened.content)
    assert len(opened.conversation.messages) == 1


def test_a_torn_line_is_kept_and_reported() -> None:
    data = jsonl(claude_parallel()) + b'{"parentUuid":"a4","type":"us'
    opened = session(data)
    assert opened.skipped_lines == [10]
    assert opened.check() == []
    opened.body = opened.body
    assert opened.content == data


def test_lines_without_ids_are_read_in_their_order() -> None:
    """As the program prints them with --output-format stream-json."""
    rows: list[JSON] = [
        {"type": "system", "subtype": "init"},
        {"type": "user", "message": {"role": "user", "content": "Run it."}},
        {
            "type": "assistant",
            "message": {"id": "m", "role": "assistant", "content": [tool_use("t1")]},
        },
        {"type": "user", "message": {"role": "user", "content": "Well?"}},
        {"type": "result", "subtype": "success"},
    ]
    opened = session(rows)
    assert opened.format == "claude-code"
    opened.repair()
    assert len(lines(opened.content)) == len(rows) + 2
    assert opened.check() == []


# --- Codex ----------------------------------------------------------------------------------------


def test_a_compaction_replaces_the_history_before_it() -> None:
    call, result = codex_call("call_2")["payload"], codex_result("call_2")["payload"]
    message = codex_message("user", "Summary.")["payload"]
    compacted = codex("compacted", {"message": "", "replacement_history": [message, call]})
    rows = [
        *codex_session()[:6],
        compacted,
        codex("event_msg", {"type": "x"}),
        codex_message("user", "Go."),
    ]
    opened = session(rows)
    [finding] = opened.check()
    assert (finding.line, finding.pointer) == (7, "/payload/replacement_history/1")
    opened.repair()
    assert lines(opened.content)[:6] == lines(jsonl(rows))[:6]
    assert [json.loads(lines(opened.content)[7])["payload"]["call_id"]] == ["call_2"]
    assert result is not None


def test_an_old_compaction_keeps_the_summary_and_the_messages_of_the_user() -> None:
    rows = [*codex_session()[:7], codex("compacted", {"message": "It was about files."})]
    parts = session(rows).conversation.parts()
    texts = [part.text for part in parts if isinstance(part, Text)]
    assert texts == ["List the files.", "It was about files."]


def test_turns_that_were_rolled_back_do_not_count() -> None:
    rolled_back = codex("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    rows = [*codex_session()[:11], rolled_back, codex_message("user", "Stop.")]
    opened = session(rows)
    assert [call.id for call in opened.conversation.calls()] == ["call_1"]
    assert opened.check() == []


def test_a_message_that_a_repair_writes_has_the_form_that_codex_reads() -> None:
    opened = session([*codex_session()[:4], codex_result("call_9"), codex_message("user", "Go.")])
    opened.repair()
    payload = json.loads(lines(opened.content)[4])["payload"]
    assert (payload["type"], payload["role"]) == ("message", "user")
    assert payload["content"][0]["type"] == "input_text"


# --- Gemini CLI -----------------------------------------------------------------------------------


NEW_GEMINI_SESSION: list[JSON] = [
    {"sessionId": "s", "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z"},
    {"id": "i", "type": "info", "content": "Update available."},
    {"$set": {"lastUpdated": "2026-05-01T10:00:00.000Z"}},
]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_session_of_gemini_cli_without_messages_is_an_empty_history(count: int) -> None:
    found = session(NEW_GEMINI_SESSION[:count])
    assert (found.format, found.wire, found.body) == ("gemini-cli", "gemini", [])


@pytest.mark.parametrize("count", [0, 1])
def test_an_empty_session_of_gemini_cli_in_one_document_is_an_empty_history(count: int) -> None:
    first, *records = NEW_GEMINI_SESSION[: 1 + count]
    assert isinstance(first, dict)
    found = session([{**first, "messages": records}])
    assert (found.format, found.wire, found.body) == ("gemini-cli", "gemini", [])


def test_a_cancelled_call_gets_its_result_in_its_own_record() -> None:
    rows = gemini_session(gemini_call("a"), gemini_call("b", done=False))
    opened = session(rows)
    [finding] = opened.check()
    assert (finding.line, finding.pointer) == (4, "/toolCalls/1")
    opened.repair()
    before, after = lines(jsonl(rows)), lines(opened.content)
    assert [n for n, line in enumerate(after) if line != before[n]] == [3]
    record = json.loads(after[3])
    assert record["toolCalls"][0] == gemini_call("a")
    assert record["toolCalls"][1]["result"][0]["functionResponse"]["id"] == "b"


def test_a_session_in_one_document_is_repaired_in_its_layout() -> None:
    document = {
        "sessionId": "s",
        "projectHash": "h",
        "messages": gemini_records(gemini_call("a", done=False)),
    }
    opened = session(json.dumps(document, indent=2).encode() + b"\n")
    [finding] = opened.check()
    assert (finding.line, finding.pointer) == (None, "/messages/2/toolCalls/0")
    opened.repair()
    assert opened.check() == []
    assert opened.content.startswith(b'{\n  "sessionId": "s",\n')


def test_records_that_were_replaced_or_taken_back_do_not_count() -> None:
    again = gemini_records(gemini_call("a"))[2]
    rewind: JSON = {"$rewindTo": "3"}
    rows = [*gemini_session(gemini_call("a", done=False)), again, rewind]
    opened = session(rows)
    assert opened.check() == []
    assert len(opened.conversation.messages) == 3


def test_a_line_may_replace_all_records_before_it() -> None:
    stuck = gemini_call("b", done=False)
    all_records: JSON = {"$set": {"messages": gemini_records(gemini_call("a"), stuck)}}
    later: JSON = {"id": "9", "timestamp": TIME, "type": "gemini", "content": "Bye."}
    rows = [*gemini_session(gemini_call("z", done=False)), all_records, later]
    opened = session(rows)
    [finding] = opened.check()
    assert (finding.line, finding.pointer) == (8, "/$set/messages/2/toolCalls/1")
    opened.repair()
    assert opened.check() == []
    before, after = lines(jsonl(rows)), lines(opened.content)
    assert [n for n, line in enumerate(after) if line != before[n]] == [7]
    kept = json.loads(after[7])["$set"]["messages"][:2]
    assert kept == gemini_records()[:2]
    opened.body = []
    assert opened.body == []
    assert session([rows[0], all_records]).format == "gemini-cli"


def test_a_damaged_line_does_not_hide_the_format() -> None:
    rows: list[JSON] = [*claude_parallel(), None, {"weather": "fine"}]
    assert session(rows).format == "claude-code"


def test_a_saved_chat_is_a_wrapper() -> None:
    history = session(SESSIONS["gemini-cli"]).body
    opened = session(json.dumps({"history": history, "authType": "x"}).encode())
    assert (opened.format, opened.wire) == ("wrapper", "gemini")
