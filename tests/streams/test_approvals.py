"""Approval of calls: requested by an agent, granted or denied in a chat client, and carried out;
and preliminary results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode  # type: ignore[attr-defined]
from google.adk.events import Event as RunEvent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types
from streams.clients import CLIENTS, judged

from toolwire import decode, encode, translate
from toolwire.conversation.json import JSON, Object, get, parse
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream

MINE = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
ASKS = "adk-7c1d0f3e-0a55-4c57-8d2e-5b1f6c0e9a11"
PENDING = "This tool call requires confirmation, please approve or reject."
REFUSED = "This tool call is rejected."


def event(role: str, *parts: JSON, author: str = "files", **more: JSON) -> Chunk:
    return {
        "author": author,
        "invocationId": "e-1",
        "content": {"role": role, "parts": list(parts)},
        **more,
    }


def call(one: str, name: str, args: JSON) -> JSON:
    return {"functionCall": {"id": one, "name": name, "args": args}}


def answer(one: str, name: str, response: JSON) -> JSON:
    return {"functionResponse": {"id": one, "name": name, "response": response}}


ABOUT: JSON = {"id": MINE, "name": "delete", "args": {"path": "/x"}}
HINT: JSON = {"hint": "Sure?", "confirmed": False}
ASKED: list[Chunk] = [
    event(
        "model", call(MINE, "delete", {"path": "/x"}), longRunningToolIds=[], finishReason="STOP"
    ),
    event(
        "model",
        call(
            ASKS,
            "adk_request_confirmation",
            {"originalFunctionCall": ABOUT, "toolConfirmation": HINT},
        ),
        longRunningToolIds=[ASKS],
    ),
    event(
        "user",
        answer(MINE, "delete", {"error": PENDING}),
        actions={"requestedToolConfirmations": {MINE: HINT}},
    ),
]
START: Chunk = event("user", {"text": "Delete it."}, author="user")
GRANTED: Chunk = event(
    "user", answer(ASKS, "adk_request_confirmation", {"confirmed": True}), author="user"
)
DENIED: Chunk = event(
    "user", answer(ASKS, "adk_request_confirmation", {"confirmed": False}), author="user"
)


def tool_of(body: JSON, n: int = -1) -> JSON:
    """A tool part of the last message."""
    messages = get(body, ("messages",))
    parts = get(messages[-1] if isinstance(messages, list) else body, ("parts",))
    assert isinstance(parts, list)
    return [part for part in parts if str(get(part, ("type",))).startswith("tool-")][n]


# --- approval requests ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", [None, 6, 7])
def test_approval_is_requested_for_the_call_itself_and_its_preliminary_result_is_not_sent(
    version: int | None,
) -> None:
    told = restream(ASKED, "adk", "ai-sdk", framed=False, version=version)
    chunks = list(told)
    assert [one["type"] for one in chunks if "tool" in str(one["type"])] == [
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-approval-request",
    ]
    assert chunks[-3] == {"type": "tool-approval-request", "approvalId": ASKS, "toolCallId": MINE}
    assert chunks[-1] == {"type": "finish", "finishReason": "tool-calls"}
    body = translate(fold(ASKED, "adk"), "adk", "ai-sdk", "response")
    assert fold(chunks, "ai-sdk") == body.body
    assert tool_of(body.body) == {
        "type": "tool-delete",
        "toolCallId": MINE,
        "state": "approval-requested",
        "input": {"path": "/x"},
        "approval": {"id": ASKS},
    }
    assert {"/1/content/parts/0", "/2/content/parts/0"} <= {loss.pointer for loss in told.losses}
    assert {"/1/content/parts/0", "/2/content/parts/0"} <= {loss.pointer for loss in body.losses}


def test_a_version_without_approvals_gets_the_request_as_a_call_and_the_result_so_far() -> None:
    chunks = list(restream(ASKED, "adk", "ai-sdk", framed=False, version=5))
    assert [one["toolCallId"] for one in chunks if one["type"] == "tool-input-available"] == [
        MINE,
        ASKS,
    ]
    assert [one["errorText"] for one in chunks if one["type"] == "tool-output-error"] == [PENDING]


def test_two_calls_of_one_tool_have_separate_approvals() -> None:
    second, asks = MINE.replace("2b", "3c"), ASKS.replace("7c", "8d")
    about: JSON = {"id": second, "name": "delete", "args": {"path": "/y"}}
    events = [
        event(
            "model",
            call(MINE, "delete", {"path": "/x"}),
            call(second, "delete", {"path": "/y"}),
            longRunningToolIds=[],
        ),
        event(
            "model",
            call(asks, "adk_request_confirmation", {"originalFunctionCall": about}),
            call(ASKS, "adk_request_confirmation", {"originalFunctionCall": ABOUT}),
            longRunningToolIds=[asks, ASKS],
        ),
    ]
    body = fold(restream(events, "adk", "ai-sdk"), "ai-sdk")
    assert [
        (get(tool_of(body, n), ("toolCallId",)), get(tool_of(body, n), ("approval", "id")))
        for n in (0, 1)
    ] == [(MINE, ASKS), (second, asks)]


def test_an_approval_request_for_a_missing_call_stays_a_call() -> None:
    chunks = list(restream(ASKED[1:2], "adk", "ai-sdk", framed=False))
    assert [one["toolCallId"] for one in chunks if one["type"] == "tool-input-available"] == [ASKS]


def test_an_approval_request_names_the_call_by_the_id_that_was_sent_for_it() -> None:
    before = [
        event("model", call(MINE, "delete", {}), longRunningToolIds=[]),
        event("user", answer(MINE, "delete", {"output": 1})),
    ]
    chunks = list(
        restream([*before, *ASKED], "adk", "ai-sdk", framed=False)
    )  # an id may come once there
    inputs = [one["toolCallId"] for one in chunks if one["type"] == "tool-input-available"]
    assert inputs[0] == MINE and inputs[1] != MINE
    assert [
        one["toolCallId"] for one in chunks if one["type"] == "tool-approval-request"
    ] == inputs[1:]


def test_a_request_of_meai_is_the_call_that_it_holds_and_its_approval_request() -> None:
    held: JSON = {
        "$type": "functionCall",
        "callId": "c1",
        "name": "delete",
        "arguments": {"path": "/x"},
    }
    asks: JSON = {"$type": "toolApprovalRequest", "requestId": "r1", "toolCall": held}
    updates: list[Chunk] = [
        {"responseId": "a", "role": "assistant", "contents": [asks]},
        {"contents": [], "finishReason": "stop"},
    ]
    chunks = list(restream(updates, "meai", "ai-sdk", framed=False))
    assert {"type": "tool-approval-request", "approvalId": "r1", "toolCallId": "c1"} in chunks
    body = translate(fold(updates, "meai"), "meai", "ai-sdk", "response").body
    assert fold(chunks, "ai-sdk") == body
    assert tool_of(body) == {
        "type": "tool-delete",
        "toolCallId": "c1",
        "state": "approval-requested",
        "input": {"path": "/x"},
        "approval": {"id": "r1"},
    }


# --- approvals in a history -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ([], {"state": "approval-requested", "approval": {"id": ASKS}}),
        ([GRANTED], {"state": "approval-responded", "approval": {"id": ASKS, "approved": True}}),
        ([DENIED], {"state": "approval-responded", "approval": {"id": ASKS, "approved": False}}),
        (
            [GRANTED, event("user", answer(MINE, "delete", {"output": "gone"}))],
            {
                "state": "output-available",
                "output": "gone",
                "approval": {"id": ASKS, "approved": True},
            },
        ),
        (
            [DENIED, event("user", answer(MINE, "delete", {"error": REFUSED}))],
            {
                "state": "output-denied",
                "approval": {"id": ASKS, "approved": False, "reason": REFUSED},
            },
        ),
    ],
)
def test_a_log_shows_the_state_of_an_approval(more: list[Chunk], part: Object) -> None:
    there = translate([START, *ASKED, *more], "adk", "ai-sdk")
    assert tool_of(there.body) == {
        "type": "tool-delete",
        "toolCallId": MINE,
        "input": {"path": "/x"},
        **part,
    }
    home = decode(translate(there.body, "ai-sdk", "adk").body, "adk")
    asked = [one for one in home.calls() if one.approval_for is not None]
    assert [(one.id, one.approval_for, one.name) for one in asked] == [
        (ASKS, MINE, "adk_request_confirmation")
    ]
    verdicts = [
        pair.result.output
        for pair in home.pairs()
        if pair.call is asked[0] and pair.result is not None
    ]
    assert verdicts == ([{"confirmed": more[0] is GRANTED}] if more else [])


def posted(approval: JSON, **more: JSON) -> JSON:
    part: JSON = {
        "type": "tool-delete",
        "toolCallId": "c1",
        "state": "approval-responded",
        "input": {"path": "/x"},
        "approval": approval,
        **more,
    }
    said: JSON = {"id": "u", "role": "user", "parts": [{"type": "text", "text": "Delete it."}]}
    return {
        "messages": [
            said,
            {"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, part]},
        ]
    }


@pytest.mark.parametrize("approved", [True, False])
def test_the_decision_of_a_client_returns_under_the_id_of_the_request(approved: bool) -> None:
    home = translate(posted({"id": "q1", "approved": approved, "reason": "so"}), "ai-sdk", "adk")
    assert isinstance(home.body, list)
    for one in home.body:
        RunEvent.model_validate(one)
    assert home.body[-1] == {
        "author": "user",
        "content": {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "adk_request_confirmation",
                        "id": "q1",
                        "response": {"confirmed": approved},
                    }
                }
            ],
        },
    }
    assert get(home.body[-2], ("longRunningToolIds",)) == ["q1"]
    assert [loss.pointer for loss in home.losses] == ["/messages/1/parts/1/approval/reason"]


def test_a_decision_and_the_result_after_it_are_two_events_of_two_authors() -> None:
    home = translate(
        posted({"id": "q1", "approved": True}, state="output-available", output="gone"),
        "ai-sdk",
        "adk",
    )
    assert isinstance(home.body, list) and home.losses == []
    told = [
        (get(one, ("author",)), get(one, ("content", "parts", 0, "functionResponse", "id")))
        for one in home.body[-2:]
    ]
    assert told == [("user", "q1"), ("agent", "c1")]
    assert home.ids.forms == {}


def test_other_wires_lose_approvals_and_that_is_reported() -> None:
    home = translate(posted({"id": "q1", "approved": True}), "ai-sdk", "openai-chat")
    assert "/messages/1/parts/1/approval" in [loss.pointer for loss in home.losses]


# --- after the decision ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approved", "response", "told"),
    [
        (
            True,
            {"output": "gone"},
            {"type": "tool-output-available", "toolCallId": MINE, "output": "gone"},
        ),
        (
            True,
            {"error": "locked"},
            {"type": "tool-output-error", "toolCallId": MINE, "errorText": "locked"},
        ),
        (False, {"error": REFUSED}, {"type": "tool-output-denied", "toolCallId": MINE}),
    ],
)
def test_the_result_after_a_decision_belongs_to_the_call_that_the_client_has(
    approved: bool, response: JSON, told: Chunk
) -> None:
    first = translate([START, *ASKED, GRANTED if approved else DENIED], "adk", "ai-sdk")
    home = translate(first.body, "ai-sdk", "adk")
    events = [
        event("user", answer(MINE, "delete", response)),
        event("model", {"text": "Done."}, finishReason="STOP"),
    ]
    stream = restream(events, "adk", "ai-sdk", framed=False, ids=home.ids.to_dict())
    chunks = list(stream)
    assert chunks[:2] == [
        {"type": "start"},
        told,
    ]  # with no id of its own it goes on in the message that the client has
    assert not any(str(one["type"]).startswith("tool-input") for one in chunks)
    assert chunks[-1] == {"type": "finish", "finishReason": "stop"}
    assert not any("never came" in loss.reason for loss in stream.losses)


def test_a_failed_call_is_not_shown_as_denied() -> None:
    events = [*ASKED[:2], event("user", answer(MINE, "delete", {"error": REFUSED}))]
    chunks = list(restream(events, "adk", "ai-sdk", framed=False))
    assert {"type": "tool-output-error", "toolCallId": MINE, "errorText": REFUSED} in chunks


# --- preliminary results --------------------------------------------------------------------------

WAITS: list[Chunk] = [
    event("model", call(MINE, "ask", {}), longRunningToolIds=[MINE], finishReason="STOP"),
    event("user", answer(MINE, "ask", {"status": "pending"})),
]


@pytest.mark.parametrize("version", [6, 7])
def test_the_progress_of_a_long_running_call_is_a_preliminary_output(version: int) -> None:
    chunks = list(restream(WAITS, "adk", "ai-sdk", framed=False, version=version))
    given: Chunk = {
        "type": "tool-output-available",
        "toolCallId": MINE,
        "output": {"status": "pending"},
        "preliminary": True,
    }
    assert given in chunks and chunks[-1] == {"type": "finish", "finishReason": "tool-calls"}
    body = translate(fold(WAITS, "adk"), "adk", "ai-sdk", "response").body
    assert fold(chunks, "ai-sdk") == body and get(tool_of(body), ("preliminary",)) is True
    (one,) = decode(body, "ai-sdk", "response").calls()
    assert one.executor == "client"


def test_clients_without_preliminary_outputs_do_not_get_them() -> None:
    stream = restream(WAITS, "adk", "ai-sdk", framed=False, version=5)
    assert not any(str(one["type"]).startswith("tool-output") for one in stream)
    assert any("final result" in loss.reason for loss in stream.losses)


def test_a_call_that_goes_on_and_fails_has_failed() -> None:
    chunks = list(
        restream(
            [WAITS[0], event("user", answer(MINE, "ask", {"error": "no"}))],
            "adk",
            "ai-sdk",
            framed=False,
        )
    )
    assert {"type": "tool-output-error", "toolCallId": MINE, "errorText": "no"} in chunks


def test_a_result_replaces_the_preliminary_result_before_it() -> None:
    part: JSON = {
        "type": "tool-ask",
        "toolCallId": "c",
        "state": "output-available",
        "input": {},
        "output": 1,
        "preliminary": True,
    }
    body: JSON = {"messages": [{"id": "a", "role": "assistant", "parts": [part]}]}
    conversation = decode(body, "ai-sdk")
    (old,) = conversation.results()
    (one,) = conversation.calls()
    assert old.preliminary
    written = encode(conversation.replace(old, one.result(2)), "ai-sdk").body
    assert tool_of(written) == {
        "type": "tool-ask",
        "toolCallId": "c",
        "state": "output-available",
        "input": {},
        "output": 2,
    }


# --- a real agent and real clients ----------------------------------------------------------------


class Model(BaseLlm):
    """Calls one tool twice; sums up when there are answers."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        done = any(
            part.function_response
            for content in llm_request.contents
            for part in content.parts or []
        )
        parts = [types.Part(text="Done." if done else "I delete.")]
        yield LlmResponse(content=types.Content(role="model", parts=list(parts)), partial=True)
        for path in () if done else ("/a", "/b"):
            parts.append(
                types.Part(function_call=types.FunctionCall(name="delete", args={"path": path}))
            )
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            partial=False,
            finish_reason=types.FinishReason.STOP,
        )


class Agent:
    """An agent behind the route that a chat client posts to: what comes is translated, and so is
    the run that it starts."""

    def __init__(self, tool: BaseTool, version: int) -> None:
        self.runner = InMemoryRunner(
            LlmAgent(name="files", model=Model(model="fake"), tools=[tool]), app_name="app"
        )
        self.version = version
        self.seen: list[RunEvent] = []

    async def _run(self, content: types.Content) -> AsyncIterator[RunEvent]:
        service = self.runner.session_service
        if await service.get_session(app_name="app", user_id="u", session_id="s") is None:
            await service.create_session(app_name="app", user_id="u", session_id="s")
        config = RunConfig(streaming_mode=StreamingMode.SSE)
        async for one in self.runner.run_async(
            user_id="u", session_id="s", new_message=content, run_config=config
        ):
            self.seen.append(one)
            yield one

    def post(self, body: JSON) -> bytes:
        log = translate(body, "ai-sdk", "adk")
        assert isinstance(log.body, list)
        content = types.Content.model_validate(get(log.body[-1], ("content",)))

        async def gathered() -> bytes:
            return b"".join(
                [
                    piece
                    async for piece in restream(
                        self._run(content), "adk", "ai-sdk", ids=log.ids, version=self.version
                    )
                ]
            )

        return asyncio.run(gathered())


@contextmanager
def route(agent: Agent) -> Iterator[str]:
    """The address of an agent."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            out = agent.post(parse(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tools_in(messages: JSON) -> list[JSON]:
    assert isinstance(messages, list)
    parts = get(messages[-1], ("parts",))
    assert isinstance(parts, list)
    return [part for part in parts if get(part, ("type",)) == "tool-delete"]


@pytest.mark.filterwarnings("ignore")
def test_a_real_agent_requests_approval_from_real_clients_and_follows_the_decision() -> None:
    ran: list[str] = []

    def delete(path: str) -> dict[str, str]:
        """Delete a file."""
        ran.append(path)
        return {"output": f"gone: {path}"}

    names = [(version, name) for version in (6, 7) for name in CLIENTS[version]]
    agents = [
        Agent(FunctionTool(delete, require_confirmation=True), version) for version, _ in names
    ]
    verdicts: list[JSON] = [{"approved": True}, {"approved": False, "reason": "not that one"}]
    with ExitStack() as stack:
        urls = [stack.enter_context(route(agent)) for agent in agents]
        told = judged(
            {"package": name, "url": url, "verdicts": verdicts}
            for (_, name), url in zip(names, urls, strict=True)
        )
    for agent, verdict in zip(agents, told, strict=True):
        assert verdict["error"] is None and verdict["invalid"] is None, verdict
        asked = [
            part.function_call
            for one in agent.seen
            if not one.partial and one.content
            for part in one.content.parts or []
            if part.function_call
        ]
        mine, asks = [one.id for one in asked[:2]], [one.id for one in asked[2:]]
        assert [one.name for one in asked] == ["delete"] * 2 + ["adk_request_confirmation"] * 2
        before = tools_in(verdict["before"])
        assert [
            (get(one, ("toolCallId",)), get(one, ("state",)), get(one, ("approval",)))
            for one in before
        ] == [
            (one, "approval-requested", {"id": asking})
            for one, asking in zip(mine, asks, strict=True)
        ]
        after = tools_in(verdict["messages"])
        assert [get(one, ("toolCallId",)) for one in after] == mine, "no call is told twice"
        assert [get(one, ("state",)) for one in after] == ["output-available", "output-denied"]
        assert [get(one, ("input",)) for one in after] == [{"path": "/a"}, {"path": "/b"}]
        assert get(after[0], ("output",)) == "gone: /a"
        assert get(after[1], ("approval",)) == {
            "id": asks[1],
            "approved": False,
            "reason": "not that one",
        }
        assert isinstance(verdict["messages"], list) and len(verdict["messages"]) == 2, (
            "it goes on in the same message"
        )
        assert "Done." in json.dumps(verdict["messages"][-1])
    assert ran == ["/a"] * len(agents)


@pytest.mark.filterwarnings("ignore")
def test_real_clients_show_a_real_progress_result_as_preliminary() -> None:
    def delete(path: str) -> dict[str, str]:
        """Ask a person to delete a file."""
        return {"status": "pending", "path": path}

    tool = LongRunningFunctionTool(delete)
    names = [(version, name) for version in (6, 7) for name in CLIENTS[version]]
    with ExitStack() as stack:
        urls = [stack.enter_context(route(Agent(tool, version))) for version, _ in names]
        told = judged(
            {"package": name, "url": url, "verdicts": []}
            for (_, name), url in zip(names, urls, strict=True)
        )
    for verdict in told:
        assert verdict["error"] is None and verdict["invalid"] is None, verdict
        shown = tools_in(verdict["before"])
        assert [(get(one, ("output", "path")), get(one, ("preliminary",))) for one in shown] == [
            ("/a", True),
            ("/b", True),
        ]
