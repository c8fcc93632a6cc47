"""Parts and messages: what a conversation is made of.

Everything is frozen. A part keeps the JSON it was read from in `source`, so that its own wire gets
back verbatim what it sent. This module knows no wire by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import force_setattr

from toolwire.conversation.json import JSON, JsonPath, require_json, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.errors import DecodeError, UsageError, require_text

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
Origin: TypeAlias = Literal["wire", "item", "minted"]
Executor: TypeAlias = Literal["client", "provider"]
PairedBy: TypeAlias = Literal["id", "name", "order"]


class FieldSpec(Protocol):
    """The fields of a block that its reader understands, including those of objects inside it."""

    @property
    def keys(self) -> frozenset[str]: ...
    @property
    def required(self) -> Mapping[str, JSON]: ...
    @property
    def inner(self) -> tuple[tuple[str, frozenset[str]], ...]: ...
    def clean(self, block: JSON | UnsetType, /) -> bool: ...


class _NoFields(Struct, frozen=True, eq=False):
    keys: frozenset[str] = frozenset()
    required: Mapping[str, JSON] = {}
    inner: tuple[tuple[str, frozenset[str]], ...] = ()

    def clean(self, block: JSON | UnsetType, /) -> bool:
        return True


class Source(Struct, frozen=True, eq=False, gc=False):
    """Where a part was read: its JSON, the path to it, and the spec of its block.

    `original` is the part that an edited part replaces: only the difference is written back.
    `is_complete` is True if the reader knows that `raw` has no fields but those it has read: it is
    the text of a message, or a block without other fields. A part that was read in full has no
    signature, and no parts as its output; a call or result has its call id from the wire, and no
    item id beside it.
    """

    raw: JSON | UnsetType = UNSET
    path: JsonPath = ()
    spec: FieldSpec | None = None
    original: Traceable | None = None
    is_complete: bool = False


NO_SOURCE = Source()
"""The source of a part that was made by hand."""
PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""The signature of a call whose real one is unknown: servers that require signatures accept it."""
_MADE_FROM_CALL = Source(spec=_NoFields())
"""The source of a result that was made from its call."""
_NOT_COMPARED = frozenset({"source", "approval"})


class Traceable(Struct, frozen=True, eq=False, gc=False, kw_only=True):
    """Something that may have been read from a body. Its source does not count in comparisons."""

    source: Source = NO_SOURCE

    @property
    def raw(self) -> JSON | UnsetType:
        """The JSON it was read from; UNSET if it was made by hand, or must be written anew."""
        return self.source.raw

    @property
    def path(self) -> JsonPath:
        """The path to it in the body it was read from; empty if it was made by hand."""
        return self.source.path

    @property
    def spec(self) -> FieldSpec | None:
        """The spec of the block it was read from; None if it was made by hand."""
        return self.source.spec

    @property
    def original(self) -> Traceable | None:
        """The part that this one replaces, as it was read; None if it was not edited."""
        return self.source.original

    def fields_to_compare(self) -> tuple[object, ...]:
        """The values that count when two parts are compared."""
        return tuple(
            getattr(self, name) for name in self.__struct_fields__ if name not in _NOT_COMPARED
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Traceable) or type(self) is not type(other):
            return False
        return self.fields_to_compare() == other.fields_to_compare()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        scalars = (value for value in self.fields_to_compare() if isinstance(value, str | bool))
        return hash((type(self).__name__, *scalars))

    def __repr__(self) -> str:
        names = (name for name in self.__struct_fields__ if name not in _NOT_COMPARED)
        shown = (f"{n}={getattr(self, n)!r}" for n in names if getattr(self, n) not in (None, ()))
        return f"{type(self).__name__}({', '.join(shown)})"


class Part(Traceable, frozen=True, eq=False, gc=False, kw_only=True):
    """One piece of a message."""

    signature: str | None = None
    """A provider's signature over this part: opaque, and only that provider accepts it back."""


class Text(Part, frozen=True, eq=False, gc=False):
    """Text. `refusal` marks text with which a model declined."""

    text: str
    refusal: bool = False


class Media(Part, frozen=True, eq=False, gc=False):
    """An image, audio, video or file.

    Exactly one of `data` (base64), `url`, `file` (a provider's file id) and `text` is set.
    """

    kind: Literal["image", "audio", "video", "file"]
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    file: str | None = None
    text: str | None = None
    name: str | None = None


class Reasoning(Part, frozen=True, eq=False, gc=False):
    """Reasoning of a model. `hidden` is its encrypted form, if the provider sends only that."""

    text: str
    hidden: str | None = None


APPROVAL = "mcp-approval"
"""The family of a request to approve a call that a provider will run, and of the decision. The
client only decides; the provider runs the call."""


class Approval(Struct, frozen=True, gc=False):
    """A request for a user's approval of a call, with the decision once it is made. Read-only."""

    id: str
    granted: bool | None = None
    reason: str | None = None
    path: JsonPath = ()


class Call(Part, frozen=True, eq=False, gc=False):
    """A tool call: `Call("c1", "weather", {"city": "Oslo"})`.

    The arguments are a dict or JSON text. `id` is never empty; `origin` says whether the wire sent
    it as a correlation id (`wire`), only as the id of an item (`item`), or not at all (`minted`).
    """

    id: str
    name: str
    args: LazyJson = LazyJson("")
    origin: Origin = "wire"
    family: str = "function"
    executor: Executor = "client"
    item: str | None = None
    """The id of the item that holds the call, on wires that have one beside the call id."""
    approval_for: str | None = None
    """The id of the call that this one requests approval for, on wires where that is a call."""
    approval: Approval | None = None
    """The approval that a wire keeps on the call itself. It does not count in comparisons."""

    if TYPE_CHECKING:  # what `__post_init__` accepts beside the types of the fields

        def __init__(
            self,
            id: str,
            name: str,
            args: LazyJson | JSON = ...,
            origin: Origin = ...,
            family: str = ...,
            executor: Executor = ...,
            item: str | None = ...,
            approval_for: str | None = ...,
            approval: Approval | None = ...,
            *,
            signature: str | None = ...,
            source: Source = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.args.__class__ is not LazyJson:
            force_setattr(self, "args", _as_arguments(self.args))
        if self.source is NO_SOURCE:
            require_text(self.id, "the id of a call")
            require_text(self.name, "the name of a tool")

    @property
    def runs_on_client(self) -> bool:
        """True if the client has to run the call: it is no approval, and no provider runs it."""
        return self.executor == "client" and self.family != APPROVAL

    @property
    def arguments(self) -> str:
        """The arguments as JSON text: verbatim if the wire sends text."""
        return self.args.text

    @property
    def input(self) -> JSON:
        """The parsed arguments: an empty object if there are none, None if the text is broken."""
        return self.args.value

    def result(self, output: Output, *, error: bool = False) -> Result:
        """Make the result of this call, under its id: the only way to make a result by hand."""
        if not isinstance(output, str | tuple):
            try:
                require_json(output, "")
            except DecodeError as problem:
                raise UsageError(problem.why, path=problem.path) from None
        # A result that is made here refers to its call by id, even where no wire sent one.
        origin: Origin = "item" if self.origin == "item" else "wire"
        rest = (self.name, origin, self.family, self.executor)
        return Result(self.id, output, error, *rest, source=_MADE_FROM_CALL)


def _as_arguments(given: object) -> LazyJson:
    """The arguments of a call that was made by hand: a dict, or JSON text."""
    if isinstance(given, str):
        return LazyJson(given)
    try:
        return LazyJson(require_json(given, ""))
    except DecodeError as problem:
        raise UsageError(f"arguments of a call: {problem.why}", path=problem.path) from None


def _refuse_result_without_call() -> Source:
    raise UsageError("a result is made from its call: `call.result(output)`")


class _NeedsSource(Part, frozen=True, eq=False, gc=False, kw_only=True):
    if TYPE_CHECKING:
        source: Source
    else:
        source: Source = field(default_factory=_refuse_result_without_call)


class Result(_NeedsSource, frozen=True, eq=False, gc=False):
    """The result of a call: text, parts, or any JSON value. `name` is the tool's name, if known.

    Make one with `call.result(...)`.
    """

    call_id: str
    output: Output
    error: bool = False
    name: str | None = None
    origin: Origin = "wire"
    family: str = "function"
    executor: Executor = "client"
    preliminary: bool = False
    """True for a progress result that a later one replaces."""

    @property
    def text(self) -> str:
        """The output as one text: JSON is written compactly, media in brackets."""
        return output_text(self.output)


class Opaque(Part, frozen=True, eq=False, gc=False):
    """A block of unknown type, kept verbatim and written back unchanged to its own wire."""

    type: str
    value: JSON


Output: TypeAlias = "str | tuple[Part, ...] | JSON"


def output_text(output: Output) -> str:
    """A result's output as one text."""
    if isinstance(output, str):
        return output
    if isinstance(output, tuple):
        return "\n".join(part.text if isinstance(part, Text) else describe(part) for part in output)
    return text_of(output)


MARK = "[toolwire]"
"""The prefix of all text that toolwire, and no tool or model, writes into a conversation."""
ERROR_PREFIX = "[error] "
_READS_AS_ERROR = ("error", "[toolwire]")
"""The beginnings of texts that read as an error even without the mark."""


def with_error_mark(output: Output) -> Output:
    """The output of a failed call for a wire without an error flag: the text states the failure."""
    if isinstance(output, str):
        if output.lower().startswith(_READS_AS_ERROR):
            return output
        return f"{ERROR_PREFIX}{output}"
    if not isinstance(output, tuple):
        return {"error": output}
    first = output[0] if output else None
    if not isinstance(first, Text):
        return (Text(ERROR_PREFIX), *output)
    text = with_error_mark(first.text)
    assert isinstance(text, str)
    if text == first.text:
        return output
    return (Text(text, source=Source(path=first.path)), *output[1:])


def without_error_mark(output: Output) -> Output:
    """The output without the mark that `with_error_mark` added."""
    if isinstance(output, str):
        return output.removeprefix(ERROR_PREFIX)
    if isinstance(output, tuple):
        first = output[0] if output else None
        if not isinstance(first, Text) or not first.text.startswith(ERROR_PREFIX):
            return output
        text = first.text.removeprefix(ERROR_PREFIX)
        return (Text(text), *output[1:]) if text else output[1:]
    if isinstance(output, dict) and len(output) == 1:
        return output.get("error", output)
    return output


def describe(part: Part) -> str:
    """A short readable description of a part, for targets that support only text."""
    match part:
        case Text(text=text) | Reasoning(text=text):
            return text
        case Media():
            if part.text is not None:
                return f"title: {part.name}\n{part.text}" if part.name else part.text
            words = (part.kind, part.name, part.mime, part.url or part.file)
            return f"[{' '.join(word for word in words if word)}]"
        case Call():
            return f"[{part.name} was called with {part.arguments or '{}'}]"
        case Result():
            verb = "failed" if part.error else "answered"
            return f"[{part.name or 'the tool'} {verb}: {part.text}]"
        case Opaque():
            text = readable_text(part.value)
            return f"[{part.type}] {text}" if text else f"[{part.type}]"
    return ""


_NOT_READABLE = re.compile(r"type|id|.*_id|signature|encrypted_.*|data|bytes|mime_type|.*Id")
"""Fields that are not readable text: identifiers, encrypted content, binary data."""
_UNLABELLED = frozenset({"text", "content"})


def readable_text(value: JSON) -> str:
    """The readable text in a block of unknown type, one line for each field.

    Fields other than `text` and `content` are labelled: `title: Oslo`.
    """
    return "\n".join(_readable_lines(value, ""))


def _readable_lines(value: JSON, name: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if _NOT_READABLE.fullmatch(key) is None:
                yield from _readable_lines(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _readable_lines(inner, name)
    elif isinstance(value, str) and value.strip():
        yield value if name in _UNLABELLED or not name else f"{name}: {value}"


class Message(Traceable, frozen=True, eq=False, gc=False):
    """Parts under one role: `Message("user", "Hello")` or `Message("assistant", [call])`.

    `stop` is why the model stopped, on the messages of a response.
    """

    role: Role
    parts: tuple[Part, ...]
    stop: str | None = None
    wire: str = ""
    """The wire that `raw` belongs to."""

    if TYPE_CHECKING:  # what `__post_init__` accepts beside the types of the fields

        def __init__(
            self,
            role: Role,
            parts: str | Part | Sequence[Part],
            stop: str | None = ...,
            wire: str = ...,
            *,
            source: Source = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.source is NO_SOURCE or self.parts.__class__ is not tuple:
            if self.role not in ROLES:
                roles = ", ".join(ROLES)
                raise UsageError(f"a role is one of {roles}, not {self.role!r}")
            force_setattr(self, "parts", _as_parts(self.parts))

    def fields_to_compare(self) -> tuple[object, ...]:
        return (self.role, self.parts, self.stop)


def _as_parts(given: object) -> tuple[Part, ...]:
    """The parts of a message that was made by hand: text, one part, or a list of parts."""
    if isinstance(given, str):
        return (Text(given),)
    if isinstance(given, Part):
        return (given,)
    if not isinstance(given, list | tuple):
        raise UsageError(f"expected text or a list of parts, got {type(given).__name__}")
    for part in given:
        if not isinstance(part, Part):
            raise UsageError(f"expected parts in a message, got {type(part).__name__}")
    return tuple(given)


class Pair(Struct, frozen=True, eq=False, gc=False):
    """A call, its result, and how they were paired; a missing half is None."""

    call: Call | None
    result: Result | None
    how: PairedBy | None
