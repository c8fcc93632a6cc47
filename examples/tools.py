"""Five example tools: numbers, a failure that may be retried, no input, a token, a secret.

They reach nothing outside this process: the doorbell counts its rings, and the mail and the
messages are invented.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, TypedDict

from msgspec import Meta, Struct

from toolwire.tools import Authorization, RetryableToolError, ToolContext, Tools, tool

RINGS: Counter[str] = Counter({"doorbell1": 0, "doorbell42": 0})
"""How often each doorbell was rung."""


@tool(id="Calculator.Add@1.0.0", read_only=True)
def add(a: int | float, b: int | float) -> int | float:
    """Add two numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


@tool(id="Doorbell.Ring@0.1.0")
async def ring(doorbell_id: Annotated[str, "Which doorbell to ring."]) -> None:
    """Ring a doorbell."""
    if doorbell_id not in RINGS:
        raise RetryableToolError(
            "The doorbell was not found.",
            developer_message="doorbell_id is unknown",
            additional_prompt_content=f"The doorbells are: {', '.join(sorted(RINGS))}.",
            retry_after_ms=500,
        )
    RINGS[doorbell_id] += 1


class Timestamp(Struct):
    """A point in time."""

    timestamp: Annotated[datetime, Meta(tz=True, description="The current time, in UTC.")]


@tool(id="System.GetTimestamp@1.0.0", read_only=True)
def get_timestamp() -> Timestamp:
    """Return the current time."""
    return Timestamp(datetime.now(UTC))


class Email(TypedDict):
    """The beginning of an e-mail."""

    id: str
    subject: str
    snippet: str


class Emails(TypedDict):
    """The e-mails that match a query."""

    emails: list[Email]


GMAIL = Authorization("google", ("https://www.googleapis.com/auth/gmail.readonly",))
INBOX: tuple[Email, ...] = (
    {"id": "1", "subject": "Hello", "snippet": "Hello from the other side of the wire"},
    {"id": "2", "subject": "Your parcel", "snippet": "It is at the door, please ring"},
)


@tool(id="Gmail.GetEmails@1.2.0", authorization=[GMAIL], user_id=True, read_only=True)
async def get_emails(context: ToolContext, query: str = "") -> Emails:
    """Find e-mails of the user.

    Args:
        query: What to look for, as in `is:unread`. Without it, everything.
    """
    assert context.token("google") and context.user_id
    word = "" if ":" in query else query.lower()
    return {"emails": [email for email in INBOX if word in email["subject"].lower()]}


class DeliveryStatus(TypedDict):
    """The delivery status of a message."""

    status: str


@tool(id="SMS.Send@0.1.2", secrets=["TWILIO_API_KEY"])
async def send(context: ToolContext, to: str, message: str) -> DeliveryStatus:
    """Send a text message.

    Args:
        to: The telephone number, with its country code.
        message: What to say.
    """
    assert context.secret("TWILIO_API_KEY")
    return {"status": "sent"}


TOOLS = Tools(add, ring, get_timestamp, get_emails, send)
