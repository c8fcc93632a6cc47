"""Parts and messages: what a conversation is made of.

Everything is frozen. A part remembers the JSON it was read from (`raw`, `at`, `row`), so that its
own wire gets back to the letter what it sent. Knows no wire by name.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from toolwire.conversation.json import JSON, At, Json, checked, text_of
from toolwire.errors import LocalError, RemoteError

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal["wire", "item", "minted"]
Executor: TypeAlias = Literal["client", "provider"]
How: TypeAlias = Literal["id", "name", "order"]


class Known(Protocol):
    """What a part remembers of the row it was read by: the fields that were understood, also in the
    objects inside."""

    @property
    def keys(self) -> frozenset[str]: ...
    @property
    def inner(self) -> tuple[tuple[str, frozenset[str]], ...]: ...
    def clean(self, block: JSON | UnsetType, /) -> bool: ...


class _Answer(Struct, frozen=True):
    keys: frozenset[str] = frozenset()
    inner: tuple[tuple[str, frozenset[str]], ...] = ()

    def clean(self, block: JSON | UnsetType, /) -> bool:
        return True


_ANSWER = _Answer()
"""The row of a result that was made from its call and read from nowhere."""
_PROVENANCE = frozenset({"raw", "at", "row", "was", "leave"})


class Read(Struct, frozen=True, eq=False, gc=False, kw_only=True):
    """What everything read from a body remembers; none of it counts when two parts are compared."""

    raw: JSON | UnsetType = UNSET
    at: At = ()
    row: Known | None = None
    was: Read | None = None
    """The part this one replaces: only the difference is written back."""

    def meaning(self) -> tuple[object, ...]:
        """The fields that count."""
        return tuple(
            getattr(self, name) for name in self.__struct_fields__ if name not in _PROVENANCE
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Read)
            and type(self) is type(other)
            and self.meaning() == other.meaning()
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(
            (
                type(self).__name__,
                *(value for value in self.meaning() if isinstance(value, str | bool)),
            )
        )

    def __repr__(self) -> str:
        shown = (
            f"{n}={getattr(self, n)!r}"
            for n in self.__struct_fields__
            if n not in _PROVENANCE and getattr(self, n) not in (None, ())
        )
        return f"{type(self).__name__}({', '.join(shown)})"


class Part(Read, frozen=True, eq=False, gc=False, kw_only=True):
    """One piece of a message."""

    seal: str | None = None
    """A provider's signature over this part: opaque, and only the wire it came from can take it
    back."""


class Text(Part, frozen=True, eq=False, gc=False):
    """Words. `refusal` marks those with which a model declined."""

    text: str
    refusal: bool = False


class Media(Part, frozen=True, eq=False, gc=False):
    """A picture, sound, film or file, by exactly one of `data` (base64), `url`, `file` (a
    provider's file id), `text`."""

    kind: Literal["image", "audio", "video", "file"]
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    file: str | None = None
    text: str | None = None
    name: str | None = None


class Reasoning(Part, frozen=True, eq=False, gc=False):
    """What a model thought; `hidden` holds it when the provider gives it only in a form
    of its own.
    """

    text: str
    hidden: str | None = None


class Leave(Struct, frozen=True, gc=False):
    """Leave to run a call, asked of a user: under which id, and the answer if there is one. Read,
    and not to be edited."""

    id: str
    given: bool | None = None
    reason: str | None = None
    at: At = ()
    """Where it stood."""


class Call(Part, frozen=True, eq=False, gc=False):
    """A tool call. Its `id` is never empty; `origin` says whether the wire gave it, lent it, or had
    none."""

    id: str
    name: str
    args: Json
    origin: Origin = "wire"
    family: str = "function"
    executor: Executor = "client"
    item: str | None = None
    """The id of the item that holds the call, on wires that have one beside the call id."""
    about: str | None = None
    """The id of the call that this one asks leave for, on wires where that is a call of its own."""
    leave: Leave | None = None
    """The leave to run it, on wires where a call has that with it. It does not count when two calls
    are compared."""

    @property
    def arguments(self) -> str:
        """The arguments as JSON text: to the letter where the wire carries text."""
        return self.args.text

    @property
    def input(self) -> JSON:
        """The arguments parsed; an empty object when there are none, None when the text
        is broken.
        """
        return self.args.value

    def result(self, output: Output, *, error: bool = False) -> Result:
        """The answer to this call, under its id: the only way to make a result."""
        if not isinstance(output, str | tuple):
            try:
                checked(output, "")
            except RemoteError as refused:
                raise LocalError("", refused.path, refused.why) from None
        # Made here, it knows its call by the id, also where no wire ever had one.
        origin: Origin = "item" if self.origin == "item" else "wire"
        return Result(
            self.id, output, error, self.name, origin, self.family, self.executor, row=_ANSWER
        )


class _Made(Part, frozen=True, eq=False, gc=False, kw_only=True):
    row: Known
    """Required: what a result was read by, or that it was made from its call. So none can be built
    on its own by accident."""


class Result(_Made, frozen=True, eq=False, gc=False):
    """The answer to a call: text, parts, or any JSON value. `name` is the tool's, where it is
    known."""

    call_id: str
    output: Output
    error: bool = False
    name: str | None = None
    origin: Origin = "wire"
    family: str = "function"
    executor: Executor = "client"
    preliminary: bool = False
    """Whether it only stands in for the result until there is one."""

    @property
    def text(self) -> str:
        """The output as one text: JSON is written compactly, media in brackets."""
        return output_text(self.output)


class Opaque(Part, frozen=True, eq=False, gc=False):
    """A block this library does not know, kept verbatim: it goes back to its own wire as
    it came.
    """

    type: str
    value: JSON


Output: TypeAlias = "str | tuple[Part, ...] | JSON"


def output_text(output: Output) -> str:
    """A result's output as one text."""
    if isinstance(output, str):
        return output
    if isinstance(output, tuple):
        return "\n".join(part.text if isinstance(part, Text) else label(part) for part in output)
    return text_of(output)


def label(part: Part) -> str:
    """A part in a few readable words, for places that can only hold text."""
    match part:
        case Text(text=text) | Reasoning(text=text):
            return text
        case Media():
            if part.text is not None:
                return part.text
            words = (part.kind, part.name, part.mime, part.url or part.file)
            return f"[{' '.join(word for word in words if word)}]"
        case Call():
            return f"[{part.name} was called with {part.arguments or '{}'}]"
        case Result():
            return (
                f"[{part.name or 'the tool'} {'failed' if part.error else 'answered'}: {part.text}]"
            )
        case Opaque():
            return f"[{part.type}]"
    return ""


class Message(Read, frozen=True, eq=False, gc=False):
    """Parts under one role. `stop` is why the model stopped, on the messages of a response."""

    role: Role
    parts: tuple[Part, ...]
    stop: str | None = None
    wire: str = field(default="", name="wire")
    """The wire `raw` belongs to."""

    def meaning(self) -> tuple[object, ...]:
        return (self.role, self.parts, self.stop)


class Pair(Struct, frozen=True, eq=False, gc=False):
    """A call and its result and how they were joined; None where one side is missing."""

    call: Call | None
    result: Result | None
    how: How | None
