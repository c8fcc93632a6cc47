"""Tools that the server is tested with: those of the protocol's own examples, and some that
misbehave.

`RUNS` counts the runs by tool id with version; `SEEN` has the contexts that tools got.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from enum import Enum
from typing import Annotated, TypedDict

from msgspec import Struct

from toolwire.tools import RetryableToolError, Runnable, ToolContext, Tools, tool

RUNS: Counter[str] = Counter()
SEEN: list[ToolContext] = []
GMAIL = "https://www.googleapis.com/auth/gmail.readonly"


def add(version: str) -> Runnable:
    """One version of the calculator."""

    @tool(id=f"Calculator.Add@{version}")
    def add(a: Annotated[float, "The first."], b: Annotated[float, "The second."]) -> float:
        """Add two numbers."""
        RUNS[f"Calculator.Add@{version}"] += 1
        return a + b

    return add.runnable


@tool(id="Doorbell.Ring@0.1.0")
def ring(doorbell_id: Annotated[str, "Which doorbell."]) -> None:
    """Ring a doorbell."""
    RUNS["Doorbell.Ring@0.1.0"] += 1
    if doorbell_id != "doorbell42":
        raise RetryableToolError(
            "There is no such doorbell.",
            developer_message=f"no doorbell {doorbell_id}",
            additional_prompt_content="Doorbells: doorbell42",
            retry_after_ms=500,
        )


class Timestamp(TypedDict):
    """When."""

    timestamp: str


@tool(id="System.GetTimestamp@1.0.0")
def get_timestamp() -> Timestamp:
    """The time of the system."""
    RUNS["System.GetTimestamp@1.0.0"] += 1
    return {"timestamp": "2025-03-13T10:00:00Z"}


class Email(TypedDict):
    """One message."""

    id: str
    subject: str
    snippet: str


class Emails(TypedDict):
    """Messages."""

    emails: list[Email]


@tool(id="Gmail.GetEmails@1.2.0", authorization=["google"], user_id=True)
async def get_emails(
    context: ToolContext, query: Annotated[str, "What to look for."] = ""
) -> Emails:
    """Messages that fit a query."""
    RUNS["Gmail.GetEmails@1.2.0"] += 1
    SEEN.append(context)
    return {"emails": [{"id": "1", "subject": query, "snippet": ""}]}


class Status(TypedDict):
    """The status of a message."""

    status: str


@tool(id="SMS.Send@0.1.2", secrets=["TWILIO_API_KEY"])
async def send(
    context: ToolContext, to: Annotated[str, "The number."], message: Annotated[str, "The text."]
) -> Status:
    """Send a short message."""
    RUNS["SMS.Send@0.1.2"] += 1
    SEEN.append(context)
    return {"status": "sent"}


@tool(id="Bad.Boom@1.0.0", secrets=["KEY"])
def boom(context: ToolContext) -> str:
    """Break, and tell a secret."""
    RUNS["Bad.Boom@1.0.0"] += 1
    raise RuntimeError(f"cannot log in with {context.secret('KEY')}")


@tool(id="Bad.Nan@1.0.0")
def nan() -> float:
    """Give what JSON cannot say."""
    RUNS["Bad.Nan@1.0.0"] += 1
    return float("nan")


@tool(id="Bad.Rubbish@1.0.0")
def rubbish() -> int:
    """Give something else than it promises."""
    RUNS["Bad.Rubbish@1.0.0"] += 1
    return "seven"  # type: ignore[return-value]


@tool(id="Slow.Run@1.0.0")
async def slow(
    seconds: Annotated[float, "How long."], label: Annotated[str, "To count by."] = ""
) -> str:
    """Take a while."""
    RUNS[f"Slow.Run@1.0.0 {label}"] += 1
    await asyncio.sleep(seconds)
    return label


@tool(id="Slow.TooSlow@1.0.0", timeout=0.2)
async def too_slow() -> str:
    """Take longer than it may."""
    RUNS["Slow.TooSlow@1.0.0"] += 1
    await asyncio.sleep(30)
    return "never"


FLAKY: Counter[str] = Counter()


@tool(id="Flaky.Once@1.0.0")
def flaky(label: Annotated[str, "To count by."]) -> str:
    """Fail the first time."""
    FLAKY[label] += 1
    if FLAKY[label] == 1:
        raise RetryableToolError("Not yet.", retry_after_ms=1)
    return "now"


class Color(Enum):
    """A color."""

    RED = "red"
    BLUE = "blue"


class Box(Struct):
    """A box."""

    color: Color
    size: int = 1


@tool(id="Shop.Pack@1.0.0", read_only=True)
def pack(
    boxes: Annotated[list[Box], "What to pack."], wrap: Annotated[Color, "The paper."] = Color.RED
) -> Box:
    """Pack boxes."""
    return boxes[0]


def tools() -> Tools:
    """All of them."""
    functions = (
        ring,
        get_timestamp,
        get_emails,
        send,
        boom,
        nan,
        rubbish,
        slow,
        too_slow,
        flaky,
        pack,
    )
    return Tools(*map(add, ("1.0.0", "1.9.0", "1.10.0")), *(one.runnable for one in functions))


SEED = """
{"tool_id": "Calculator.Add@1.0.0", "call_id": "123e4567-e89b-12d3-a456-426614174000", "input": {"a": 10, "b": 5}}
{"tool_id": "Doorbell.Ring@0.1.0", "call_id": "223e4567-e89b-12d3-a456-426614174001", "input": {"doorbell_id": "doorbell42"}}
{"tool_id": "System.GetTimestamp@1.0.0", "call_id": "323e4567-e89b-12d3-a456-426614174002"}
{"tool_id": "Gmail.GetEmails@1.2.0", "call_id": "423e4567-e89b-12d3-a456-426614174003", "trace_id": "trace_123",\
 "input": {"query": "is:unread"}, "context": {"authorization": [{"id": "google", "token": "ya29.a0AfH6SMC..."}],\
 "user_id": "user_123"}}
{"tool_id": "SMS.Send@0.1.2", "call_id": "523e4567-e89b-12d3-a456-426614174004", "input": {"to": "+5556051234567",\
 "message": "Hello from Open Tool Calling!"}, "context": {"secrets": [{"id": "TWILIO_API_KEY", "value": "TWILIO_SECRET_VALUE"}]}}
""".strip().splitlines()
"""The example calls of the specification, verbatim except for line ends."""
