"""The neutral conversation: messages of parts, the tools on offer, and the settings that go with
them.

Everything is frozen; an edit makes a new conversation. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, At, checked
from toolwire.conversation.pairing import pairs
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Pair,
    Part,
    Read,
    Reasoning,
    Result,
    Text,
)
from toolwire.errors import LocalError, RemoteError, pointer

Kind: TypeAlias = Literal["request", "response", "stream"]


def _check(part: Part) -> None:
    """Raise LocalError if a part made by hand holds what JSON cannot say."""
    match part:
        case Call(args=held):
            value: JSON = held.value
        case Result(output=output) if not isinstance(output, tuple):
            value = output
        case Opaque(value=value):
            pass
        case _:
            return
    try:
        checked(value, "")
    except RemoteError as error:
        raise LocalError("", error.path, error.why) from None


class Tool(Read, frozen=True, eq=False, gc=False):
    """A tool as it is offered to a model. `kind` is `function`, `custom` (free text), or a
    provider's own."""

    name: str
    description: str | None = None
    schema: JSON = None
    strict: bool | None = None
    kind: str = "function"


class Choice(Struct, frozen=True):
    """Which tools a model may or must use: any of `names`, or all when there are none."""

    mode: Literal["auto", "none", "required"]
    names: tuple[str, ...] = ()


class Format(Struct, frozen=True):
    """The form an answer must have: any JSON object, or one that fits a schema."""

    schema: JSON = None
    name: str | None = None
    strict: bool | None = None
    description: str | None = None


class Usage(Struct, frozen=True):
    """Tokens. `input` counts everything the model read, from the cache or not; `reasoning` is part
    of `output`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


Setting: TypeAlias = "JSON | Choice | Format | Usage | tuple[str, ...]"


class Loss(Struct, frozen=True):
    """Something a target could not carry: where it stood in the source, and why it did not come
    along."""

    path: At
    reason: str

    @property
    def pointer(self) -> str:
        """Where in the source body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{self.pointer}: {self.reason}"


class Change(Struct, frozen=True):
    """Something that repair did: for which rule, where, and what."""

    code: str
    name: str
    path: At
    message: str

    @property
    def pointer(self) -> str:
        """Where in the body as it was, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{self.pointer}: {self.code} {self.name}: {self.message}"


class Conversation(Struct, frozen=True, eq=False):
    """Messages, the tools on offer and the settings, with the body they were read from."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    settings: dict[str, Setting] = {}
    wire: str = ""
    kind: Kind = "request"
    source: JSON = None
    raw: bytes | None = None
    unknown: tuple[At, ...] = ()
    """Fields of the body that have no neutral form: they go back to their own wire and are a loss
    for any other."""
    places: dict[str, At] = {}
    """Where in the body each setting stood."""
    ordered: bool = False
    """Whether the wire promises that results without ids stand in the order of their calls."""
    was: tuple[object, ...] = ()
    """Messages, tools and settings as they were read: the same objects as long as nothing was
    edited."""

    def parts(self) -> Iterator[Part]:
        """Every part, in document order."""
        return (part for message in self.messages for part in message.parts)

    def calls(self) -> list[Call]:
        """Every call, in document order."""
        return [
            part for message in self.messages for part in message.parts if isinstance(part, Call)
        ]

    def results(self) -> list[Result]:
        """Every result, in document order."""
        return [
            part for message in self.messages for part in message.parts if isinstance(part, Result)
        ]

    def pairs(self) -> list[Pair]:
        """Every call with its result, in the order of the calls; then the results that have no
        call."""
        return pairs(self.messages, ordered=self.ordered)

    def replace(self, part: Part, new: Part) -> Conversation:
        """The conversation with one part, found by identity, replaced; everything else stays to the
        letter."""
        if not any(p is part for p in self.parts()):
            raise ValueError("that part is not in this conversation")
        _check(new)
        kept = replace(
            new,
            raw=part.raw,
            at=part.at,
            row=part.row,
            was=part.was or part,
            seal=new.seal or part.seal,
        )
        messages = tuple(
            replace(message, parts=tuple(kept if p is part else p for p in message.parts))
            if any(p is part for p in message.parts)
            else message
            for message in self.messages
        )
        return replace(self, messages=messages)

    @property
    def pristine(self) -> bool:
        """Whether this is what was read from `source`, and nothing else."""
        now = (self.messages, self.tools, self.settings)
        return len(self.was) == len(now) and all(a is b for a, b in zip(self.was, now, strict=True))

    @property
    def same_tools(self) -> bool:
        """Whether the tools on offer are those that were read; not so if nothing was."""
        return len(self.was) > 1 and self.tools is self.was[1]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (self.messages, self.tools, self.settings) == (
            other.messages,
            other.tools,
            other.settings,
        )

    def __hash__(self) -> int:
        return hash(self.messages)


__all__ = [
    "Call",
    "Choice",
    "Conversation",
    "Format",
    "Kind",
    "Loss",
    "Media",
    "Message",
    "Opaque",
    "Pair",
    "Part",
    "Reasoning",
    "Result",
    "Setting",
    "Text",
    "Tool",
    "Usage",
]
