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
from streams.clients import CLIENTS, run_clients

from toolwire import decode, encode, translate
from toolwire.conversation.json import JSON, Object, get, parse
from toolwire.streaming.events import Chunk
from toolwire.streaming.restream import fold, restream
from toolwire.wires.engine.encode_context import VALUE_CHANGED
from toolwire.wires.engine.specs import require_object

CALL_ID = "adk-2b9230a6-4b92-4a1b-9a65-b708ff6c68b6"
APPROVAL_ID = "adk-7c1d0f3e-0a55-4c57-8d2e-5b1f6c0e9a11"
PENDING = "This tool call requires confirmation, please approve or reject."
REFUSED = "This tool call is rejected."


def event(role: str, *parts: JSON, author: str = "files", **more: JSON) -> Chunk:
    return {
        "author": author,
        "invocationId": "e-1",
        "content": {"role": role, "parts": list(parts)},
        **more,
    }


def call_part(call_id: str, name: str, args: JSON) -> JSON:
    return {"functionCall": {"id": call_id, "name": name, "args": args}}


def response_part(call_id: str, name: str, response: JSON) -> JSON:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


ABOUT: JSON = {"id": CALL_ID, "name": "delete", "args": {"path": "/x"}}
HINT: JSON = {"hint": "Sure?", "confirmed": False}
APPROVAL_EVENTS: list[Chunk] = [
    event(
        "model",
        call_part(CALL_ID, "delete", {"path": "/x"}),
        longRunningToolIds=[],
        finishReason="STOP",
    ),
    event(
        "model",
        call_part(
            APPROVAL_ID,
            "adk_request_confirmation",
            {"originalFunctionCall": ABOUT, "toolConfirmation": HINT},
        ),
        longRunningToolIds=[APPROVAL_ID],
    ),
    event(
        "user",
        response_part(CALL_ID, "delete", {"error": PENDING}),
        actions={"requestedToolConfirmations": {CALL_ID: HINT}},
    ),
]
START: Chunk = event("user", {"text": "Delete it."}, author="user")
GRANTED: Chunk = event(
    "user",
    response_part(APPROVAL_ID, "adk_request_confirmation", {"confirmed": True}),
    author="user",
)
DENIED: Chunk = event(
    "user",
    response_part(APPROVAL_ID, "adk_request_confirmation", {"confirmed": False}),
    author="user",
)


def tool_part(body: JSON, n: int = -1) -> JSON:
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
    chunks_of_version = restream(APPROVAL_EVENTS, "adk", "ai-sdk", framed=False, version=version)
    chunks = list(chunks_of_version)
    assert [event["type"] for event in chunks if "tool" in str(event["type"])] == [
        "tool-input-start",
        "tool-input-delta",
        "tool-input-available",
        "tool-approval-request",
    ]
    assert chunks[-3] == {
        "type": "tool-approval-request",
        "approvalId": APPROVAL_ID,
        "toolCallId": CALL_ID,
    }
    assert chunks[-1] == {"type": "finish", "finishReason": "tool-calls"}
    body = translate(fold(APPROVAL_EVENTS, "adk"), "adk", "ai-sdk", "response")
    assert fold(chunks, "ai-sdk") == body.body
    assert tool_part(body.body) == {
        "type": "tool-delete",
        "toolCallId": CALL_ID,
        "state": "approval-requested",
        "input": {"path": "/x"},
        "approval": {"id": APPROVAL_ID},
    }
    assert {"/1/content/parts/0", "/2/content/parts/0"} <= {
        loss.pointer for loss in chunks_of_version.losses
    }
    assert {"/1/content/parts/0", "/2/content/parts/0"} <= {loss.pointer for loss in body.losses}


def test_a_version_without_approvals_gets_the_request_as_a_call_and_the_result_so_far() -> None:
    chunks = list(restream(APPROVAL_EVENTS, "adk", "ai-sdk", framed=False, version=5))
    assert [event["toolCallId"] for event in chunks if event["type"] == "tool-input-available"] == [
        CALL_ID,
        APPROVAL_ID,
    ]
    assert [event["errorText"] for event in chunks if event["type"] == "tool-output-error"] == [
        PENDING
    ]


def test_two_calls_of_one_tool_have_separate_approvals() -> None:
    second, approval_id = CALL_ID.replace("2b", "3c"), APPROVAL_ID.replace("7c", "8d")
    about: JSON = {"id": second, "name": "delete", "args": {"path": "/y"}}
    events = [
        event(
            "model",
            call_part(CALL_ID, "delete", {"path": "/x"}),
            call_part(second, "delete", {"path": "/y"}),
            longRunningToolIds=[],
        ),
        event(
            "model",
            call_part(approval_id, "adk_request_confirmation", {"originalFunctionCall": about}),
            call_part(APPROVAL_ID, "adk_request_confirmation", {"originalFunctionCall": ABOUT}),
            longRunningToolIds=[approval_id, APPROVAL_ID],
        ),
    ]
    body = fold(restream(events, "adk", "ai-sdk"), "ai-sdk")
    assert [
        (get(tool_part(body, n), ("toolCallId",)), get(tool_part(body, n), ("approval", "id")))
        for n in (0, 1)
    ] == [(CALL_ID, APPROVAL_ID), (second, approval_id)]


def test_an_approval_request_for_a_missing_call_stays_a_call() -> None:
    chunks = list(restream(APPROVAL_EVENTS[1:2], "adk", "ai-sdk", framed=False))
    assert [event["toolCallId"] for event in chunks if event["type"] == "tool-input-available"] == [
        APPROVAL_ID
    ]


def test_an_approval_request_names_the_call_by_the_id_that_was_sent_for_it() -> None:
    before = [
        event("model", call_part(CALL_ID, "delete", {}), longRunningToolIds=[]),
        event("user", response_part(CALL_ID, "delete", {"output": 1})),
    ]
    chunks = list(
        restream([*before, *APPROVAL_EVENTS], "adk", "ai-sdk", framed=False)
    )  # an id may come once there
    inputs = [event["toolCallId"] for event in chunks if event["type"] == "tool-input-available"]
    assert inputs[0] == CALL_ID and inputs[1] != CALL_ID
    assert [
        event["toolCallId"] for event in chunks if event["type"] == "tool-approval-request"
    ] == inputs[1:]


DELETE_CALL: JSON = {
    "$type": "functionCall",
    "callId": "c1",
    "name": "delete",
    "arguments": {"path": "/x"},
}


def approval_content(request_id: str) -> JSON:
    return {"$type": "toolApprovalRequest", "requestId": request_id, "toolCall": DELETE_CALL}


@pytest.mark.parametrize(
    ("contents", "approval_id"),
    [
        pytest.param([approval_content("r1")], "r1", id="alone"),
        pytest.param([DELETE_CALL, approval_content("r1")], "r1", id="after its call"),
        pytest.param([approval_content("r1"), DELETE_CALL], "r1", id="before its call"),
        pytest.param([approval_content("c1")], "c1", id="with the id of its call"),
    ],
)
def test_a_request_of_meai_is_the_call_that_it_holds_and_its_approval_request(
    contents: list[JSON], approval_id: str
) -> None:
    updates: list[Chunk] = [
        {"responseId": "a", "role": "assistant", "contents": contents},
        {"contents": [], "finishReason": "stop"},
    ]
    chunks = list(restream(updates, "meai", "ai-sdk", framed=False))
    ids: Chunk = {"approvalId": approval_id, "toolCallId": "c1"}
    assert {"type": "tool-approval-request", **ids} in chunks
    assert [chunk["type"] for chunk in chunks].count("tool-input-available") == 1
    body = translate(fold(updates, "meai"), "meai", "ai-sdk", "response").body
    assert fold(chunks, "ai-sdk") == body
    assert tool_part(body) == {
        "type": "tool-delete",
        "toolCallId": "c1",
        "state": "approval-requested",
        "input": {"path": "/x"},
        "approval": {"id": approval_id},
    }


def test_a_request_with_the_id_of_a_call_before_it_is_about_that_call() -> None:
    updates: list[Chunk] = [
        {"role": "assistant", "contents": [DELETE_CALL, approval_content("c1")]},
        {"contents": [], "finishReason": "stop"},
    ]
    chunks = list(restream(updates, "meai", "ai-sdk", framed=False))
    request = next(chunk for chunk in chunks if chunk["type"] == "tool-approval-request")
    assert request["toolCallId"] == "c1"
    assert [chunk["type"] for chunk in chunks].count("tool-input-available") == 1


def test_a_call_that_differs_from_its_request_is_reported_and_takes_its_result() -> None:
    changed: JSON = {**require_object(DELETE_CALL), "arguments": {"path": "/y"}}
    result: JSON = {"$type": "functionResult", "callId": "c1", "result": "gone"}
    updates: list[Chunk] = [
        {"role": "assistant", "contents": [approval_content("r1"), changed, result]},
        {"contents": [], "finishReason": "stop"},
    ]
    stream = restream(updates, "meai", "ai-sdk", framed=False)
    chunks = list(stream)
    assert VALUE_CHANGED in [loss.reason for loss in stream.losses]
    assert {"type": "tool-output-available", "toolCallId": "c1", "output": "gone"} in chunks


# --- approvals in a history -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ([], {"state": "approval-requested", "approval": {"id": APPROVAL_ID}}),
        (
            [GRANTED],
            {"state": "approval-responded", "approval": {"id": APPROVAL_ID, "approved": True}},
        ),
        (
            [DENIED],
            {"state": "approval-responded", "approval": {"id": APPROVAL_ID, "approved": False}},
        ),
        (
            [GRANTED, event("user", response_part(CALL_ID, "delete", {"output": "gone"}))],
            {
                "state": "output-available",
                "output": "gone",
                "approval": {"id": APPROVAL_ID, "approved": True},
            },
        ),
        (
            [DENIED, event("user", response_part(CALL_ID, "delete", {"error": REFUSED}))],
            {
                "state": "output-denied",
                "approval": {"id": APPROVAL_ID, "approved": False, "reason": REFUSED},
            },
        ),
    ],
)
def test_a_log_shows_the_state_of_an_approval(more: list[Chunk], part: Object) -> None:
    translated = translate([START, *APPROVAL_EVENTS, *more], "adk", "ai-sdk")
    assert tool_part(translated.body) == {
        "type": "tool-delete",
        "toolCallId": CALL_ID,
        "input": {"path": "/x"},
        **part,
    }
    restored = decode(translate(translated.body, "ai-sdk", "adk").body, "adk")
    approvals = [call for call in restored.calls() if call.approval_for is not None]
    assert [(call.id, call.approval_for, call.name) for call in approvals] == [
        (APPROVAL_ID, CALL_ID, "adk_request_confirmation")
    ]
    verdicts = [
        pair.result.output
        for pair in restored.pairs()
        if pair.call is approvals[0] and pair.result is not None
    ]
    assert verdicts == ([{"confirmed": more[0] is GRANTED}] if more else [])


def approval_request(approval: JSON, **more: JSON) -> JSON:
    part: JSON = {
        "type": "tool-delete",
        "toolCallId": "c1",
        "state": "approval-responded",
        "input": {"path": "/x"},
        "approval": approval,
        **more,
    }
    user_message: JSON = {
        "id": "u",
        "role": "user",
        "parts": [{"type": "text", "text": "Delete it."}],
    }
    return {
        "messages": [
            user_message,
            {"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, part]},
        ]
    }


@pytest.mark.parametrize("approved", [True, False])
def test_the_decision_of_a_client_returns_under_the_id_of_the_request(approved: bool) -> None:
    restored = translate(
        approval_request({"id": "q1", "approved": approved, "reason": "so"}), "ai-sdk", "adk"
    )
    assert isinstance(restored.body, list)
    for event in restored.body:
        RunEvent.model_validate(event)
    assert restored.body[-1] == {
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
    assert get(restored.body[-2], ("longRunningToolIds",)) == ["q1"]
    assert [loss.pointer for loss in restored.losses] == ["/messages/1/parts/1/approval/reason"]


def test_a_decision_and_the_result_after_it_are_two_events_of_two_authors() -> None:
    restored = translate(
        approval_request({"id": "q1", "approved": True}, state="output-available", output="gone"),
        "ai-sdk",
        "adk",
    )
    assert isinstance(restored.body, list) and restored.losses == []
    authors_and_ids = [
        (get(event, ("author",)), get(event, ("content", "parts", 0, "functionResponse", "id")))
        for event in restored.body[-2:]
    ]
    assert authors_and_ids == [("user", "q1"), ("agent", "c1")]
    assert restored.ids.calls == {}


def test_other_wires_lose_approvals_and_that_is_reported() -> None:
    restored = translate(approval_request({"id": "q1", "approved": True}), "ai-sdk", "openai-chat")
    assert "/messages/1/parts/1/approval" in [loss.pointer for loss in restored.losses]


# --- after the decision ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approved", "response", "chunk"),
    [
        (
            True,
            {"output": "gone"},
            {"type": "tool-output-available", "toolCallId": CALL_ID, "output": "gone"},
        ),
        (
            True,
            {"error": "locked"},
            {"type": "tool-output-error", "toolCallId": CALL_ID, "errorText": "locked"},
        ),
        (False, {"error": REFUSED}, {"type": "tool-output-denied", "toolCallId": CALL_ID}),
    ],
)
def test_the_result_after_a_decision_belongs_to_the_call_that_the_client_has(
    approved: bool, response: JSON, chunk: Chunk
) -> None:
    first = translate([START, *APPROVAL_EVENTS, GRANTED if approved else DENIED], "adk", "ai-sdk")
    restored = translate(first.body, "ai-sdk", "adk")
    events = [
        event("user", response_part(CALL_ID, "delete", response)),
        event("model", {"text": "Done."}, finishReason="STOP"),
    ]
    stream = restream(events, "adk", "ai-sdk", framed=False, ids=restored.ids.to_dict())
    chunks = list(stream)
    assert chunks[:2] == [
        {"type": "start"},
        chunk,
    ]  # without an id it continues the message that the client has
    assert not any(str(event["type"]).startswith("tool-input") for event in chunks)
    assert chunks[-1] == {"type": "finish", "finishReason": "stop"}
    assert not any("never came" in loss.reason for loss in stream.losses)


def test_a_failed_call_is_not_shown_as_denied() -> None:
    events = [
        *APPROVAL_EVENTS[:2],
        event("user", response_part(CALL_ID, "delete", {"error": REFUSED})),
    ]
    chunks = list(restream(events, "adk", "ai-sdk", framed=False))
    assert {"type": "tool-output-error", "toolCallId": CALL_ID, "errorText": REFUSED} in chunks


# --- preliminary results --------------------------------------------------------------------------

WAITS: list[Chunk] = [
    event(
        "model", call_part(CALL_ID, "ask", {}), longRunningToolIds=[CALL_ID], finishReason="STOP"
    ),
    event("user", response_part(CALL_ID, "ask", {"status": "pending"})),
]


@pytest.mark.parametrize("version", [6, 7])
def test_the_progress_of_a_long_running_call_is_a_preliminary_output(version: int) -> None:
    chunks = list(restream(WAITS, "adk", "ai-sdk", framed=False, version=version))
    preliminary_output: Chunk = {
        "type": "tool-output-available",
        "toolCallId": CALL_ID,
        "output": {"status": "pending"},
        "preliminary": True,
    }
    assert preliminary_output in chunks and chunks[-1] == {
        "type": "finish",
        "finishReason": "tool-calls",
    }
    body = translate(fold(WAITS, "adk"), "adk", "ai-sdk", "response").body
    assert fold(chunks, "ai-sdk") == body and get(tool_part(body), ("preliminary",)) is True
    (call,) = decode(body, "ai-sdk", "response").calls()
    assert call.executor == "client"


def test_clients_without_preliminary_outputs_do_not_get_them() -> None:
    stream = restream(WAITS, "adk", "ai-sdk", framed=False, version=5)
    assert not any(str(event["type"]).startswith("tool-output") for event in stream)
    assert any("final result" in loss.reason for loss in stream.losses)


def test_a_call_that_goes_on_and_fails_has_failed() -> None:
    chunks = list(
        restream(
            [WAITS[0], event("user", response_part(CALL_ID, "ask", {"error": "no"}))],
            "adk",
            "ai-sdk",
            framed=False,
        )
    )
    assert {"type": "tool-output-error", "toolCallId": CALL_ID, "errorText": "no"} in chunks


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
    (call,) = conversation.calls()
    assert old.preliminary
    written_body = encode(conversation.replace(old, call.result(2)), "ai-sdk").body
    assert tool_part(written_body) == {
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
        has_results = any(
            part.function_response
            for content in llm_request.contents
            for part in content.parts or []
        )
        parts = [types.Part(text="Done." if has_results else "I delete.")]
        yield LlmResponse(content=types.Content(role="model", parts=list(parts)), partial=True)
        for path in () if has_results else ("/a", "/b"):
            parts.append(
                types.Part(function_call=types.FunctionCall(name="delete", args={"path": path}))
            )
        yield LlmResponse(
            content=types.Content(role="model", parts=parts),
            partial=False,
            finish_reason=types.FinishReason.STOP,
        )


class Agent:
    """An agent behind the route that a chat client posts to: requests are translated, and so is
    the run that they start."""

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
        async for block in self.runner.run_async(
            user_id="u", session_id="s", new_message=content, run_config=config
        ):
            self.seen.append(block)
            yield block

    def post(self, body: JSON) -> bytes:
        log = translate(body, "ai-sdk", "adk")
        assert isinstance(log.body, list)
        content = types.Content.model_validate(get(log.body[-1], ("content",)))

        async def collect() -> bytes:
            return b"".join(
                [
                    piece
                    async for piece in restream(
                        self._run(content), "adk", "ai-sdk", ids=log.ids, version=self.version
                    )
                ]
            )

        return asyncio.run(collect())


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
        verdicts_of_clients = run_clients(
            {"package": name, "url": url, "verdicts": verdicts}
            for (_, name), url in zip(names, urls, strict=True)
        )
    for agent, verdict in zip(agents, verdicts_of_clients, strict=True):
        assert verdict["error"] is None and verdict["invalid"] is None, verdict
        function_calls = [
            part.function_call
            for run_event in agent.seen
            if not run_event.partial and run_event.content
            for part in run_event.content.parts or []
            if part.function_call
        ]
        call_ids, approval_ids = (
            [call.id for call in function_calls[:2]],
            [call.id for call in function_calls[2:]],
        )
        assert [call.name for call in function_calls] == ["delete"] * 2 + [
            "adk_request_confirmation"
        ] * 2
        before = tools_in(verdict["before"])
        assert [
            (get(tool, ("toolCallId",)), get(tool, ("state",)), get(tool, ("approval",)))
            for tool in before
        ] == [
            (call_id, "approval-requested", {"id": asking})
            for call_id, asking in zip(call_ids, approval_ids, strict=True)
        ]
        after = tools_in(verdict["messages"])
        assert [get(tool, ("toolCallId",)) for tool in after] == call_ids, "no call is told twice"
        assert [get(tool, ("state",)) for tool in after] == ["output-available", "output-denied"]
        assert [get(tool, ("input",)) for tool in after] == [{"path": "/a"}, {"path": "/b"}]
        assert get(after[0], ("output",)) == "gone: /a"
        assert get(after[1], ("approval",)) == {
            "id": approval_ids[1],
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
        verdicts_of_clients = run_clients(
            {"package": name, "url": url, "verdicts": []}
            for (_, name), url in zip(names, urls, strict=True)
        )
    for verdict in verdicts_of_clients:
        assert verdict["error"] is None and verdict["invalid"] is None, verdict
        tools = tools_in(verdict["before"])
        assert [(get(tool, ("output", "path")), get(tool, ("preliminary",))) for tool in tools] == [
            ("/a", True),
            ("/b", True),
        ]
