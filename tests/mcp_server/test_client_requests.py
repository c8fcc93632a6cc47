"""Tools that send requests to their client while they run: progress, logs, user input, a model."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

import httpx2
import pytest
from mcp.client import Client
from mcp.client.context import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_server.test_server import error_of, run, texts
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    LoggingMessageNotificationParams,
    TextContent,
)
from oxp_server.serving import running

from toolwire.conversation.json import JSON, Object
from toolwire.execution.executor import ToolExecutor
from toolwire.mcp.stdio import serve_stdio
from toolwire.server.auth import Auth
from toolwire.tool_server import ToolServer
from toolwire.tools.client import LogLevel
from toolwire.tools.errors import ToolError
from toolwire.tools.function import tool
from toolwire.tools.registry import Tools
from toolwire.tools.runnable import ToolContext

OVER = ("stdio", "http")
KEYS = {"ann": "key-of-ann-0123456789-abcdefghijkl", "bob": "key-of-bob-0123456789-abcdefghijkl"}


@tool(id="Ask.User@1.0.0")
async def ask_user(context: ToolContext, question: Annotated[str, "The question."]) -> JSON:
    """Ask the user."""
    schema: Object = {"type": "object", "properties": {"name": {"type": "string"}}}
    response = await context.elicit(question, schema)
    return {"action": response.action, "content": dict(response.content)}


@tool(id="Ask.Model@1.0.0")
async def ask_model(context: ToolContext, prompt: Annotated[str, "The prompt."]) -> JSON:
    """Ask the model of the client."""
    message = await context.sample(prompt, max_tokens=7, system_prompt="Be brief.", temperature=0.5)
    return message["content"]


@tool(id="Say.All@1.0.0")
async def say_all(context: ToolContext) -> str:
    """Report progress and log."""
    levels: tuple[LogLevel, ...] = ("debug", "info", "error")
    for number, level in enumerate(levels, 1):
        await context.report_progress(number, 3, f"step {number}")
        await context.log(level, {"level": level}, logger="steps")
    return "said"


HALF = "\ud83d"
"""A lone surrogate, as in a text that was cut inside an emoji."""


@tool(id="Cut.Texts@1.0.0")
async def cut_texts(context: ToolContext, end: Annotated[str, "How to end."]) -> JSON:
    """Use a lone surrogate in every text of a tool."""
    await context.report_progress(1, 1, HALF)
    await context.log("info", {HALF: HALF}, logger=HALF)
    if end == "ask":
        schema: Object = {"type": "object", "properties": {"name": {"type": "string"}}}
        await context.elicit(HALF, {**schema, "title": HALF})
        await context.sample(HALF, max_tokens=7, system_prompt="Be brief.", temperature=0.5)
    if end == "fail":
        raise ToolError(HALF, developer_message=HALF, extra={"why": HALF})
    return {"content": [{"type": "text", "text": HALF}]} if end == "content" else {HALF: HALF}


TOOLS = Tools(ask_user, ask_model, say_all, cut_texts)


class Person:
    """A user and a model behind a client, which record the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.logs: list[object] = []
        self.progress: list[tuple[float, float | None, str | None]] = []

    async def elicit(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"name": f"answer to {params.message}"})

    async def sample(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        assert (params.max_tokens, params.system_prompt, params.temperature) == (
            7,
            "Be brief.",
            0.5,
        )
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        reply = TextContent(type="text", text=f"{content.text}!")
        return CreateMessageResult(role="assistant", content=reply, model="m")

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        self.logs.append((params.level, params.data, params.logger))

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append((progress, total, message))


@asynccontextmanager
async def connect_client(
    over: str, person: Person | None, mode: str = "legacy"
) -> AsyncIterator[Client]:
    """The official client of a server with the tools above; without a person it has no
    capabilities."""
    elicit = None if person is None else person.elicit
    sample = None if person is None else person.sample
    log = None if person is None else person.log
    if over == "stdio":
        env = {"PYTHONPATH": str(Path(__file__).parents[1])}
        program = StdioServerParameters(command=sys.executable, args=[__file__], env=env)
        async with Client(
            program,
            mode=mode,
            elicitation_callback=elicit,
            sampling_callback=sample,
            logging_callback=log,
        ) as client:
            yield client
        return
    with running(ToolServer(TOOLS)) as server:
        async with Client(
            f"{server.url}/mcp",
            mode=mode,
            elicitation_callback=elicit,
            sampling_callback=sample,
            logging_callback=log,
        ) as client:
            yield client


@pytest.mark.parametrize("over", OVER)
def test_a_tool_asks_the_user_and_the_model_of_its_own_caller(over: str) -> None:
    async def act() -> None:
        person = Person()
        async with connect_client(over, person) as client:
            calls = [client.call_tool("Ask_User", {"question": f"q{n}"}) for n in range(3)]
            answers = [result.structured_content for result in await asyncio.gather(*calls)]
            assert answers == [
                {"action": "accept", "content": {"name": f"answer to q{n}"}} for n in range(3)
            ]
            assert sorted(person.asked) == ["q0", "q1", "q2"]
            completion = await client.call_tool("Ask_Model", {"prompt": "hello"})
            assert completion.structured_content == {"type": "text", "text": "hello!"}

    run(act())


@pytest.mark.parametrize("over", OVER)
def test_a_lone_surrogate_in_a_text_of_a_tool_ends_no_session(over: str) -> None:
    async def act() -> None:
        person = Person()
        async with connect_client(over, person) as client:
            for end in ("ask", "fail", "content", "value"):
                result = await client.call_tool(
                    "Cut_Texts", {"end": end}, progress_callback=person.report
                )
                assert result.is_error is (end == "fail")
                said = texts(result)[0] if end in ("fail", "content") else result.structured_content
                assert "\ufffd" in (said or "")
            assert person.asked == ["\ufffd"] and len(person.progress) == len(person.logs) == 4

    run(act())


@pytest.mark.parametrize("over", OVER)
def test_a_client_that_cannot_be_asked_gets_a_failure_that_says_so(over: str) -> None:
    async def act() -> None:
        async with connect_client(over, None) as client:
            for name, arguments in (
                ("Ask_User", {"question": "q"}),
                ("Ask_Model", {"prompt": "p"}),
            ):
                result = await client.call_tool(name, arguments)
                assert error_of(result)["kind"] == "client_unsupported", texts(result)
            assert texts(await client.call_tool("Say_All", {})) == ["said"]

    run(act())


@pytest.mark.parametrize("over", OVER)
def test_progress_and_logs_reach_the_client_from_the_level_it_chose(over: str) -> None:
    async def act() -> None:
        person = Person()
        async with connect_client(over, person) as client:
            await client.call_tool("Say_All", {}, progress_callback=person.report)
            assert person.progress == [(n, 3, f"step {n}") for n in (1, 2, 3)]
            assert person.logs == [
                (level, {"level": level}, "steps") for level in ("debug", "info", "error")
            ]
            person.logs.clear()
            await client.session.set_logging_level("error")
            await client.call_tool("Say_All", {})
            assert person.logs == [("error", {"level": "error"}, "steps")]

    with pytest.warns(MCPDeprecationWarning):
        run(act())


def test_a_tool_without_a_client_drops_reports_and_cannot_ask() -> None:
    async def act() -> None:
        async with ToolExecutor(tools=TOOLS) as executor:
            assert (await executor.run("Say_All", {})).value == "said"
            asked = await executor.run("Ask_User", {"question": "q"})
            assert asked.failure is not None and asked.failure.kind == "client_unsupported"

    run(act())


# --- sessions over HTTP ---------------------------------------------------------------------------

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def message(method: str, params: Object, id: int = 1) -> Object:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def initialize(capabilities: Object) -> Object:
    info: Object = {"name": "test", "version": "1"}
    return message(
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info},
    )


SAY = message("tools/call", {"name": "Say_All", "arguments": {}}, 2)


def open_session(http: httpx2.Client, key: str = "") -> dict[str, str]:
    """The headers of a session that this key opened."""
    headers = {**HEADERS, **({"authorization": f"Bearer {key}"} if key else {})}
    reply = http.post("/mcp", json=initialize({"elicitation": {}}), headers=headers)
    assert reply.status_code == 200
    session = {"mcp-session-id": reply.headers["mcp-session-id"]}
    return {**headers, **session, "mcp-protocol-version": "2025-11-25"}


def events(body: str) -> list[dict[str, str]]:
    """The fields of each event."""
    return [
        dict(line.partition(": ")[::2] for line in event.splitlines())
        for event in body.replace("\r\n", "\n").split("\n\n")
        if event and not event.startswith(":")
    ]


def test_only_a_client_that_can_be_asked_gets_a_session() -> None:
    with running(ToolServer(TOOLS)) as server, httpx2.Client(base_url=server.url) as http:
        cases: list[tuple[Object, bool]] = [({}, False), ({"sampling": {}}, True)]
        for capabilities, expected in cases:
            reply = http.post("/mcp", json=initialize(capabilities), headers=HEADERS)
            assert reply.status_code == 200
            assert ("mcp-session-id" in reply.headers) is expected


def test_a_stream_of_a_session_opens_with_an_id_and_a_delay_and_can_be_resumed() -> None:
    with running(ToolServer(TOOLS)) as server, httpx2.Client(base_url=server.url) as http:
        headers = open_session(http)
        sent = events(http.post("/mcp", json=SAY, headers=headers).text)
        assert sent[0]["id"] and sent[0]["retry"] == "1000" and not sent[0]["data"]
        resumed = {**headers, "last-event-id": sent[0]["id"]}
        with http.stream("GET", "/mcp", headers=resumed) as again:
            lines = (line for line in again.iter_lines() if line.startswith("data: {"))
            replayed = [json.loads(next(lines).removeprefix("data: ")) for _ in sent[1:]]
        assert replayed == [json.loads(event["data"]) for event in sent[1:]]
        assert replayed[-1]["result"]["content"] == [{"type": "text", "text": "said"}]


def test_a_session_belongs_to_the_caller_who_opened_it() -> None:
    server = ToolServer(TOOLS, auth=Auth(KEYS))
    with running(server) as where, httpx2.Client(base_url=where.url) as http:
        headers = open_session(http, KEYS["ann"])
        stolen = {**headers, "authorization": f"Bearer {KEYS['bob']}"}
        assert http.delete("/mcp", headers=stolen).status_code == 404
        assert http.get("/mcp", headers=stolen).status_code == 404
        assert http.delete("/mcp", headers=headers).status_code == 200
        assert http.get("/mcp", headers=headers).status_code == 404


def test_a_replica_that_does_not_know_the_session_runs_the_tool_all_the_same() -> None:
    with running(ToolServer(TOOLS)) as first, running(ToolServer(TOOLS)) as second:
        with httpx2.Client(base_url=first.url) as http:
            headers = open_session(http)
        with httpx2.Client(base_url=second.url) as http:
            said = events(http.post("/mcp", json=SAY, headers=headers).text)[-1]
            assert json.loads(said["data"])["result"]["isError"] is False
            call: Object = {"name": "Ask_User", "arguments": {"question": "q"}}
            reply = http.post("/mcp", json=message("tools/call", call), headers=headers)
            result = json.loads(events(reply.text)[-1]["data"])["result"]
            assert result["_meta"]["toolwire/error"]["kind"] == "client_unsupported"


if __name__ == "__main__":
    asyncio.run(serve_stdio(TOOLS))
