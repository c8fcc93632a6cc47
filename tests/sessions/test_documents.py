"""Bodies in wrappers, stored runs of the agent, records of the gateway; and how a session is saved."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from sessions.session_files import chat_call, chat_result, jsonl

from toolwire import (
    Conversation,
    DecodeError,
    FileStore,
    Message,
    Session,
    Text,
    UsageError,
    open_session,
)
from toolwire.agent.thread import Thread
from toolwire.atomic_write import write_copy
from toolwire.conversation.json import JSON, Object
from toolwire.gateway.observe.recorder import Recorder
from toolwire.gateway.observe.request_record import BodyCapture, RequestRecord

STUCK: list[JSON] = [
    {"role": "user", "content": "Look."},
    chat_call("call_1"),
    {"role": "user", "content": "Well?"},
]
BODY: Object = {"model": "m", "messages": STUCK}


@pytest.mark.parametrize("field", ["request", "body", "payload"])
def test_the_body_in_a_wrapper_is_repaired_in_its_place(field: str, tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text(json.dumps({"id": 7, field: BODY, "status": 400}, indent=4))
    opened = open_session(file)
    [finding] = opened.check()
    assert finding.pointer == f"/{field}/messages/1/tool_calls/0"
    opened.repair()
    opened.save()
    saved = json.loads(file.read_text())
    assert list(saved) == ["id", field, "status"]
    assert len(saved[field]["messages"]) == 4
    assert file.read_text().startswith('{\n    "id": 7,\n')


@pytest.mark.parametrize(
    "path", [("request", "body"), ("data", "request"), ("a", "b", "c", "body")]
)
def test_the_body_in_a_wrapper_in_a_wrapper_is_found(path: tuple[str, ...]) -> None:
    value: JSON = {**BODY}
    for field in reversed(path):
        value = {"method": "POST", field: value, "headers": {"x": "y"}}
    [finding] = Session(json.dumps(value).encode(), "").check()
    assert finding.pointer == f"/{'/'.join(path)}/messages/1/tool_calls/0"


def test_two_bodies_deep_in_a_wrapper_are_not_chosen_from() -> None:
    with pytest.raises(UsageError):
        Session(json.dumps({"data": {"first": BODY, "second": BODY}}).encode(), "")


def test_a_request_counts_even_if_other_fields_hold_bodies() -> None:
    value = {"response": {"choices": []}, "retry": BODY, "request": BODY}
    assert Session(json.dumps(value).encode(), "").check()[0].pointer.startswith("/request/")


def test_two_bodies_in_one_wrapper_are_not_chosen_from() -> None:
    with pytest.raises(UsageError, match="several fields contain a body: first, second"):
        Session(json.dumps({"first": BODY, "second": BODY}).encode(), "")


def test_a_body_of_several_wires_in_a_wrapper_is_refused_with_the_candidates() -> None:
    value = {"id": 7, "body": {"messages": [{"role": "user", "content": "hi"}]}}
    with pytest.raises(UsageError, match=r"^a\.json: /body: this could be a body of \w+, .+ or "):
        Session(json.dumps(value).encode(), "a.json")
    assert Session(json.dumps(value).encode(), "a.json", wire="anthropic").format == "wrapper"


def test_bodies_on_lines_are_chosen_by_their_line() -> None:
    clean: Object = {"model": "m", "messages": [*STUCK[:2], chat_result("call_1")]}
    data = jsonl([{"custom_id": "1", "body": clean}, {"custom_id": "2", "body": BODY}])
    with pytest.raises(
        DecodeError, match=r"log\.jsonl: each of 2 lines is a body; choose one: line=N, or --line N"
    ):
        Session(data, "log.jsonl")
    opened = Session(data, "log.jsonl", line=2)
    [finding] = opened.check()
    assert (finding.line, finding.pointer) == (2, "/body/messages/1/tool_calls/0")
    opened.repair()
    assert opened.content.split(b"\n")[0] == data.split(b"\n")[0]
    assert opened.check() == []


def test_a_record_of_the_gateway_names_its_wire(tmp_path: Path) -> None:
    record = RequestRecord("openai-chat", "req-1", model="m", upstream_wire="anthropic", status=400)
    body = {"messages": [{"role": "user", "content": "hi"}]}  # could be of several wires
    record.capture = BodyCapture(request=json.dumps(body).encode())
    Recorder(tmp_path / "records")(record)
    [file] = (tmp_path / "records").glob("*.jsonl")
    opened = open_session(file)
    assert (opened.format, opened.wire, opened.body) == ("record", "openai-chat", body)


def store_run(file: Path, messages: list[Message]) -> Session:
    asyncio.run(FileStore(file).save(Thread("t1", tuple(messages))))
    return open_session(file)


def chat_messages(rows: list[JSON]) -> tuple[Message, ...]:
    return Session(jsonl(rows), "a.jsonl", wire="openai-chat").conversation.messages


def test_a_stored_run_of_the_agent_is_a_session(tmp_path: Path) -> None:
    opened = store_run(tmp_path / "run.json", list(chat_messages(STUCK)))
    assert (opened.format, opened.wire) == ("agent-run", "openai-chat")
    assert [finding.name for finding in opened.check()] == ["missing-result"]
    opened.repair()
    opened.save()
    thread = asyncio.run(FileStore(tmp_path / "run.json").load())
    assert thread is not None
    assert Conversation(thread.messages).pairs()[0].result is not None


def test_results_that_a_run_stores_apart_count(tmp_path: Path) -> None:
    rows: list[JSON] = [STUCK[0], chat_call("call_1", "call_2"), chat_result("call_1")]
    opened = store_run(tmp_path / "run.json", list(chat_messages(rows)))
    assert b'"open_results"' in opened.content
    assert [pair.result is not None for pair in opened.conversation.pairs()] == [True, False]
    body = opened.body
    assert isinstance(body, dict)
    question: JSON = {"role": "user", "content": "Well?"}
    messages = body["messages"]
    assert isinstance(messages, list)
    opened.body = {**body, "messages": [*messages, question]}
    assert b'"open_results"' not in opened.content
    opened.repair()
    assert opened.check() == []


def test_a_run_over_several_wires_is_not_one_history(tmp_path: Path) -> None:
    claude = Session(
        jsonl([{"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}]),
        "",
        wire="anthropic",
    ).conversation.messages
    messages = [*chat_messages(STUCK[:1]), *claude, Message("user", [Text("So?")])]
    with pytest.raises(DecodeError, match=r"a run in 2 sections \(openai-chat, anthropic\)"):
        store_run(tmp_path / "run.json", messages)


# --- saving ---------------------------------------------------------------------------------------


def write(file: Path, data: bytes, mode: int) -> Path:
    file.write_bytes(data)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_saving_keeps_the_mode_and_a_backup(tmp_path: Path, mode: int) -> None:
    data = jsonl(STUCK)
    file = write(tmp_path / "a.jsonl", data, mode)
    opened = open_session(file)
    opened.repair()
    backup = opened.save()
    assert backup == tmp_path / "a.jsonl.bak"
    assert backup.read_bytes() == data
    assert file.read_bytes() == opened.content != data
    assert {stat.S_IMODE(path.stat().st_mode) for path in (file, backup)} == {mode}
    assert opened.save() is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "a.jsonl.bak"]


def test_saving_elsewhere_leaves_the_file_alone(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", jsonl(STUCK), 0o600)
    opened = open_session(file)
    opened.repair()
    assert opened.save(tmp_path / "b.jsonl") is None
    assert file.read_bytes() == jsonl(STUCK)
    assert (tmp_path / "b.jsonl").read_bytes() == opened.content
    assert stat.S_IMODE((tmp_path / "b.jsonl").stat().st_mode) == 0o600


def test_a_file_that_its_program_went_on_writing_is_not_replaced(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", jsonl(STUCK), 0o600)
    opened = open_session(file)
    opened.repair()
    newer = jsonl([*STUCK, {"role": "user", "content": "One more."}])
    file.write_bytes(newer)
    with pytest.raises(UsageError, match="changed while it was being repaired"):
        opened.save()
    assert file.read_bytes() == newer


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "broken JSON: the input is empty"),
        (b"{", "broken JSON"),
        (b'{"weather": "fine"}', "this is not a body of any known wire"),
        (b"\xff\xfe", "broken JSON"),
        (b"[]", "this is not a body of any known wire"),
    ],
)
def test_what_is_no_session_is_refused_with_its_name(
    tmp_path: Path, data: bytes, message: str
) -> None:
    file = write(tmp_path / "a.json", data, 0o600)
    with pytest.raises((UsageError, DecodeError), match=f"a.json: {message}"):
        open_session(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.jsonl: no such file"):
        open_session(tmp_path / "none.jsonl")


def test_a_pipe_or_device_is_not_replaced_by_a_copy(tmp_path: Path) -> None:
    original, pipe = tmp_path / "a.json", tmp_path / "pipe"
    original.write_text("{}")
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a regular file"):
        write_copy(pipe, original, b"{}")
    assert pipe.is_fifo() and len(list(tmp_path.iterdir())) == 2
