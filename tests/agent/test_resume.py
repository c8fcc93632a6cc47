"""Interrupted and resumed runs: what is stored, what runs, and what is unknown."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from agent.child import AgentReport, Orders
from agent.mock_server import (
    NAMES,
    TEXT,
    WIRES,
    MockServer,
    add,
    model_at,
    only,
    outputs,
    over,
    sound,
    talk,
)

from toolwire.agent.agent import Agent
from toolwire.agent.approvals import Deny
from toolwire.agent.commands import RunTool, UserMessage
from toolwire.agent.events import RunResult, ToolFinished, ToolStarted
from toolwire.agent.machine import AgentMachine
from toolwire.agent.phases import Phase
from toolwire.agent.session_format import dump_thread, load_thread
from toolwire.agent.session_store import FileStore, SqliteStore, Store
from toolwire.agent.thread import Thread, calls_of
from toolwire.codec import Encoded, decode
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Message, Result
from toolwire.errors import UsageError
from toolwire.execution.executor import ToolExecutor
from toolwire.execution.ledger.memory import MemoryLedger
from toolwire.execution.ledger.sqlite.ledger import SqliteLedger
from toolwire.lint import check
from toolwire.tools import tool

SCRIPT = (
    '[[call Door_Ring {"n": 1}]] [[call Door_Ring {"n": 2}]] [[then]] [[call Door_Ring {"n": 3}]]'
)
TESTS = Path(__file__).parents[1]


class Nursery:
    """A process that forks children, which run an agent."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, orders: Orders) -> int:
        """Run a child and return its exit code."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(msgspec.json.encode(orders).decode() + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, str(TESTS / "agent" / "child.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


def rings(folder: Path) -> Counter[str]:
    path = folder / "rings"
    return Counter(path.read_text().split() if path.exists() else [])


def read_report(folder: Path) -> AgentReport:
    return msgspec.json.decode((folder / "report.json").read_bytes(), type=AgentReport)


def orders(mock_server: MockServer, folder: Path, wire: str, **more: object) -> Orders:
    placed = mock_server.mock(wire)
    name, below = NAMES.get(wire, ("text", "/v1"))
    given = {"model": f"{name}:demo", "url": placed.url + below, "folder": str(folder), **more}
    return msgspec.convert(given, Orders)


POINTS = [
    *(("save", n) for n in (1, 2, 3, 4, 6, 8)),
    ("saved", 2),
    ("saved", 5),
    *(("event", n) for n in (2, 9, 18)),
    ("ring", 1),
    ("ring", 3),
    ("rung", 2),
    ("rung", 3),
    ("asked", 2),
]


@pytest.mark.parametrize(("die", "n"), POINTS)
def test_after_kill_9_every_door_is_rung_at_most_once_and_unknown_outcomes_are_reported(
    mock_server: MockServer, nursery: Nursery, tmp_path: Path, die: str, n: int
) -> None:
    wire = WIRES[(n + len(die)) % len(WIRES)]  # so that all of them come up
    first = orders(
        mock_server,
        tmp_path,
        wire,
        question=SCRIPT,
        die=die,
        n=n,
        store="sqlite" if n % 2 else "file",
    )
    assert nursery.run(first) == -9, "it did not die"
    before = rings(tmp_path)
    again = msgspec.structs.replace(
        first, die="", question=None if die != "save" or n > 1 else SCRIPT
    )
    assert nursery.run(again) == 0
    told, after = read_report(tmp_path), rings(tmp_path)
    assert told.phase == "done"
    assert max(after.values()) == 1, "a door was rung twice"
    lost = [one for one in told.done if one[1] == "lost"]
    for door in ("1", "2", "3"):
        said = told.text.partition(f"Door_Ring(n={door}) ")[2].splitlines()[0]
        assert (
            door in after and said == f"gave: rang {door}"
        ) or "[toolwire] the call was started, and its outcome is unknown" in said
    assert 1 <= len(lost) <= 2 if die in ("ring", "rung") else len(lost) <= 2
    assert all(after[door] == 1 for door in before)


def test_a_call_that_had_not_been_allowed_is_asked_about_again_and_one_that_had_is_not(
    mock_server: MockServer, nursery: Nursery, tmp_path: Path
) -> None:
    first = orders(
        mock_server, tmp_path, "anthropic", question='[[call Door_Ring {"n": 1}]]', die="asked", n=1
    )
    assert nursery.run(first) == -9 and not rings(tmp_path)
    assert nursery.run(msgspec.structs.replace(first, die="rung", n=1, question=None)) == -9
    assert rings(tmp_path) == {"1": 1}
    assert nursery.run(msgspec.structs.replace(first, die="", question=None)) == 0
    assert read_report(tmp_path).asked == 0
    assert rings(tmp_path) == {"1": 1}


@pytest.mark.parametrize("wire", ["openai-chat", "gemini", TEXT])
def test_ctrl_c_saves_the_thread_and_stops_the_call(
    mock_server: MockServer, nursery: Nursery, tmp_path: Path, wire: str
) -> None:
    first = orders(
        mock_server, tmp_path, wire, question='[[call Door_Ring {"n": 1}]]', die="interrupt"
    )
    assert nursery.run(first) == 130
    kept = load_thread((tmp_path / "thread.json").read_bytes(), thread_id="x")
    assert len(kept.messages) >= 2 and kept.open_turn() is not None
    assert nursery.run(msgspec.structs.replace(first, die="", question=None)) == 0
    told = read_report(tmp_path)
    assert told.phase == "done" and rings(tmp_path) == {"1": 1}
    assert told.done[0][1] in ("failed", "lost")


def test_without_a_durable_record_nothing_is_run_again_and_that_is_reported(
    mock_server: MockServer, nursery: Nursery, tmp_path: Path
) -> None:
    first = orders(mock_server, tmp_path, "mistral", question=SCRIPT, die="rung", n=1, ledger=False)
    assert nursery.run(first) == -9
    assert nursery.run(msgspec.structs.replace(first, die="", question=None)) == 0
    told = read_report(tmp_path)
    assert [one[1] for one in told.done[:1]] == ["lost"] and max(rings(tmp_path).values()) == 1
    assert "it is not known whether this call ran" in told.done[0][3]


# --- in one process -------------------------------------------------------------------------------


def stores(folder: Path) -> list[Store]:
    return [FileStore(folder / "thread.json"), SqliteStore(folder / "threads.db", "mine")]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_new_file_is_private_and_a_file_that_exists_keeps_its_mode_and_its_link(
    tmp_path: Path, mode: int
) -> None:
    stores = (FileStore(tmp_path / "new.json"), SqliteStore(tmp_path / "new.db", "mine"))
    for store in stores:
        asyncio.run(store.save(Thread("t")))
        assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    file, link = tmp_path / "new.json", tmp_path / "link.json"
    link.symlink_to(file.name)
    file.chmod(mode)
    asyncio.run(FileStore(link).save(Thread("u")))
    assert link.is_symlink() and b'"u"' in file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_a_pipe_or_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="not a regular file"):
        asyncio.run(FileStore(pipe).save(Thread("t")))
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_open_calls_are_found_on_every_wire_and_only_those_without_a_result_run(
    mock_server: MockServer, wire: str, tmp_path: Path
) -> None:
    store = FileStore(tmp_path / "thread.json")
    placed = mock_server.mock(wire)
    agent = Agent(model_at(wire, placed.url), [add], store=store)
    talk(agent, "add 1 and 2, and add 3 and 4, and add 5 and 6")
    whole = agent.thread
    answer, results = whole.messages[1], whole.messages[2]
    cut = dump_thread(Thread(whole.id, (*whole.messages[:2], Message("tool", results.parts[:1]))))
    (tmp_path / "thread.json").write_text(json.dumps(cut))
    calls = ToolExecutor(SqliteLedger(tmp_path / "calls.db"))

    async def go() -> list[object]:
        again = Agent(model_at(wire, placed.url), [add], store=store, executor=calls)
        async with calls:
            await again.resume()
            seen = [one async for one in again.watch()]
        await again.model.close()
        sound(again)
        return list(seen)

    seen = asyncio.run(go())
    ran = [one for one in seen if isinstance(one, ToolFinished)]
    assert sorted((done.number, done.result.output) for done in ran) == [(1, 7.0), (2, 11.0)]
    assert len(calls_of(answer)) == 3
    end = seen[-1]
    assert isinstance(end, RunResult)
    assert all(f"gave: {n}.0" in end.text for n in (3, 7, 11))
    assert set(placed.statuses()) == {200}


def test_a_plain_history_with_an_open_call_is_taken_up_and_gets_an_id_before_anything_runs(
    mock_server: MockServer, tmp_path: Path
) -> None:
    path = tmp_path / "thread.json"
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "Calculator_Add", "arguments": '{"a":1,"b":2}'},
    }
    path.write_text(
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": "add"},
                    {"role": "assistant", "tool_calls": [call]},
                ]
            }
        )
    )
    ids: list[str] = []

    @tool(id="Calculator.Add@1.0.0")
    def noting(a: int, b: int) -> int:
        """Add.

        Args:
            a: one
            b: two
        """
        ids.append(load_thread(path.read_bytes(), thread_id="new").id)
        return a + b

    calls = ToolExecutor(SqliteLedger(tmp_path / "calls.db"))
    agent = Agent(
        model_at("openai-chat", mock_server.mock("openai-chat").url),
        [noting],
        store=FileStore(path),
        executor=calls,
    )

    async def go() -> None:
        async with calls:
            await agent.resume()
            await agent.run()
        await agent.model.close()

    asyncio.run(go())
    assert ids == [agent.thread.id]


def test_a_finished_thread_is_reported_without_asking_the_model(
    mock_server: MockServer, tmp_path: Path
) -> None:
    placed = mock_server.mock("anthropic")
    agent = Agent(model_at("anthropic", placed.url), [add], store=FileStore(tmp_path / "t.json"))
    first = over(talk(agent, "add 1 and 2"))
    again = Agent(model_at("anthropic", placed.url), [add], store=FileStore(tmp_path / "t.json"))
    asyncio.run(again.resume())
    end = over(talk(again))
    assert (end.phase, end.text) == (Phase.DONE, first.text) and len(placed.statuses()) == 2
    assert end.usage == first.usage


def test_a_new_question_over_open_calls_is_answered_and_the_calls_are_not_run(
    mock_server: MockServer, tmp_path: Path
) -> None:
    call = Call("toolu_1", "Calculator_Add", LazyJson('{"a":1,"b":2}'))
    for wire in WIRES:
        placed = mock_server.mock(wire)
        agent = Agent(model_at(wire, placed.url), [add])
        agent.thread = Thread("t").add_user("hi").add_reply(Message("assistant", (call,)))
        seen = talk(agent, "[[text hello]]")
        assert over(seen).text == "hello" and not only(seen, ToolStarted)
        assert set(placed.statuses()) == {200}
        sound(agent)


def test_a_run_that_was_left_goes_on_in_the_same_process_with_what_is_known_there(
    mock_server: MockServer,
) -> None:
    rung: list[int] = []

    @tool(id="Door.Ring@1.0.0")
    async def ring(n: int) -> str:
        """Ring.

        Args:
            n: which
        """
        rung.append(n)
        return f"rang {n}"

    agent = Agent(model_at("anthropic", mock_server.mock("anthropic").url), [ring])

    async def go() -> None:
        watched = agent.watch('[[call Door_Ring {"n": 1}]] [[call Door_Ring {"n": 2}]]')
        async for one in watched:
            if isinstance(one, ToolFinished):
                break
        await watched.aclose()
        over = await agent.run()
        assert "rang 1" in over.text and "rang 2" in over.text
        await agent.model.close()

    asyncio.run(go())
    assert sorted(rung) == [1, 2] and isinstance(agent.executor.ledger, MemoryLedger)
    sound(agent)


# --- what is stored -------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_a_thread_that_was_kept_asks_its_model_with_the_same_request(
    mock_server: MockServer, wire: str
) -> None:
    agent = Agent(model_at(wire, mock_server.mock(wire).url), [add])
    talk(agent, "[[repeat-id]] add 1 and 2, and add 3 and 4")
    kept = load_thread(json.dumps(dump_thread(agent.thread)), thread_id="other")

    def next_request(thread: Thread) -> Encoded:
        return agent.request(thread.add_user("go on"))

    assert kept.id == agent.thread.id and kept.usage == agent.thread.usage
    assert next_request(kept).body == next_request(agent.thread).body


@pytest.mark.parametrize("wire", [*WIRES, TEXT])
def test_a_result_that_was_an_error_stays_one_when_it_was_kept_and_goes_elsewhere(
    mock_server: MockServer, wire: str
) -> None:
    agent = Agent(model_at(wire, mock_server.mock(wire).url), [add])
    talk(
        agent,
        '[[call Calculator_Add {"a": "one"}]] [[call Calculator_Add {"a": 1, "b": 2}]]'
        " [[unknown-tool]]",
    )
    kept = load_thread(json.dumps(dump_thread(agent.thread)), thread_id="x")
    errors = [
        [part.error for part in message.parts if isinstance(part, Result)]
        for message in kept.messages
    ]
    assert [error for some in errors for error in some] == [True, False, True]
    sent = (
        kept.add_user("go on")
        .request("anthropic", tools=agent.toolset.tools, settings={"model": "m"})
        .body
    )
    if wire != TEXT:
        assert [result.error for result in decode(sent, "anthropic").results()] == [
            True,
            False,
            True,
        ]
    there = agent.request(agent.thread.add_user("go on")).body
    assert agent.request(kept.add_user("go on")).body == there


def test_ids_that_do_not_fit_the_wire_in_which_they_are_kept_come_back(
    mock_server: MockServer,
) -> None:
    agent = Agent(model_at("mistral", mock_server.mock("mistral").url), [add])
    talk(agent, "[[repeat-id]] add 1 and 2, and add 3 and 4")
    twice = load_thread(
        dump_thread(load_thread(dump_thread(agent.thread), thread_id="x")), thread_id="x"
    )
    assert [call.id for message in twice.messages for call in calls_of(message)] == [
        call.id for message in agent.thread.messages for call in calls_of(message)
    ]


def test_both_stores_keep_the_last_thread_and_say_what_is_wrong(tmp_path: Path) -> None:
    async def go() -> None:
        for store in stores(tmp_path):
            assert await store.load() is None
            for n in range(3):
                await store.save(Thread("t").add_user(f"hello {n}"))
            kept = await store.load()
            assert (
                kept is not None
                and kept.id == "t"
                and kept.messages == Thread("t").add_user("hello 2").messages
            )
        (tmp_path / "thread.json").write_bytes(b"\xff not json")
        with pytest.raises(UsageError, match=r"thread\.json"):
            await stores(tmp_path)[0].load()
        (tmp_path / "threads.db").write_bytes(b"not a database, by far" * 100)
        with pytest.raises(UsageError, match=r"threads\.db"):
            await stores(tmp_path)[1].load()
        nowhere = FileStore(tmp_path / "no" / "such" / "folder.json")
        with pytest.raises(UsageError, match=r"folder\.json: no such file or directory; nothing"):
            await nowhere.save(Thread("t"))

    asyncio.run(go())


def test_a_save_that_was_cancelled_never_comes_after_a_newer_one(tmp_path: Path) -> None:
    class Sluggish(FileStore):
        def _write_newer(self, n: int, body: bytes) -> None:
            if n == 1:
                event.wait(2)
            super()._write_newer(n, body)

    event = threading.Event()

    async def go() -> Thread | None:
        store = Sluggish(tmp_path / "t.json")
        first = asyncio.create_task(store.save(Thread("t").add_user("old")))
        await asyncio.sleep(0.01)
        first.cancel()
        await store.save(Thread("t").add_user("new"))
        event.set()
        await asyncio.sleep(0.05)
        return await store.load()

    kept = asyncio.run(go())
    assert kept is not None and kept.messages == Thread("t").add_user("new").messages


def test_a_thread_that_cannot_be_saved_ends_the_run_with_an_error_and_nothing_runs_on(
    mock_server: MockServer, tmp_path: Path
) -> None:
    class Full(FileStore):
        saves = 0

        async def save(self, thread: Thread) -> None:
            self.saves += 1
            if self.saves > 1:
                raise UsageError("the disk is full")
            await super().save(thread)

    ran: list[int] = []

    @tool(id="Door.Ring@1.0.0")
    def ring() -> None:
        """Ring."""
        ran.append(1)

    agent = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [ring],
        store=Full(tmp_path / "t.json"),
    )
    with pytest.raises(UsageError, match="the disk is full"):
        talk(agent, "[[call Door_Ring {}]]")
    assert not ran, "what is not kept is not run"


def test_keys_do_not_depend_on_the_process_or_on_how_often_a_thread_was_kept() -> None:
    calls = [Call(f"call_{n}", "ring", LazyJson("{}")) for n in range(3)]
    thread = Thread("t").add_user("hi").add_reply(Message("assistant", tuple(calls)))
    keys: list[list[str]] = []
    for _ in range(3):
        keys.append(
            [
                one.key
                for one in AgentMachine(thread).handle(UserMessage())
                if isinstance(one, RunTool)
            ]
        )
        thread = load_thread(json.dumps(dump_thread(thread)), thread_id="other")
    assert keys[0] == keys[1] == keys[2] and len(set(keys[0])) == 3


def test_a_denied_call_stays_denied_after_it_was_taken_up(
    mock_server: MockServer, tmp_path: Path
) -> None:
    agent = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [add],
        store=FileStore(tmp_path / "t.json"),
        approve=lambda call, tool: Deny("no"),
    )
    assert outputs(talk(agent, "add 1 and 2")) == {0: "[toolwire] no"}
    again = Agent(
        model_at("anthropic", mock_server.mock("anthropic").url),
        [add],
        store=FileStore(tmp_path / "t.json"),
    )
    asyncio.run(again.resume())
    assert check(again.request(again.thread.add_user("x")).body, "anthropic") == []
    assert not only(talk(again), ToolStarted)
