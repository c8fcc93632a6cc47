"""The neutral conversation: messages of parts, tool definitions and settings.

Everything is frozen; an edit returns a new conversation. Knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr, replace

from toolwire.conversation.ids import MINTED, is_minted
from toolwire.conversation.json import JSON, JsonPath, require_json
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.pairing import pairs
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Message, Opaque, Output, Pair, Part, Result, Traceable
from toolwire.errors import DecodeError, UsageError, pointer, require_text

T = TypeVar("T")
Kind: TypeAlias = Literal["request", "response", "stream"]
Severity: TypeAlias = Literal["error", "info"]
LossSeverity: TypeAlias = Literal["loss", "info"]
Fix: TypeAlias = Literal["safe", "unsafe"]


def _without_minted_id(part: Part) -> Part:
    """Return a result as if it had no minted id: only name or order pairs it then."""
    if isinstance(part, Result) and is_minted(part.call_id):
        return replace(part, origin="minted")
    return part


def _require_json_part(part: Part) -> None:
    """Raise UsageError for a value that is not a part, or a part with a value that is not JSON."""
    match part:
        case Call(args=arguments):
            value: JSON = arguments.value
        case Result(output=output) if not isinstance(output, tuple):
            value = output
        case Opaque(value=value):
            pass
        case Part():
            return
        case _:
            raise UsageError(f"expected a part, got {type(part).__name__}")
    try:
        require_json(value, "")
    except DecodeError as error:
        raise UsageError(error.why, path=error.path) from None


class WebSearch(Struct, frozen=True):
    """The options of a web search that the provider runs."""

    allowed_domains: tuple[str, ...] = ()
    blocked_domains: tuple[str, ...] = ()
    location: dict[str, JSON] = {}
    """The approximate place of the user: city, region, country, timezone."""
    context_size: str = ""
    max_uses: int | None = None


class Tool(Traceable, frozen=True, eq=False, gc=False):
    """A tool definition. `kind` is `function`, `custom` (free text), or the type of a provider's
    own tool."""

    name: str
    description: str | None = None
    schema: JSON = None
    strict: bool | None = None
    kind: str = "function"
    web_search: WebSearch | None = None
    """Its options, if it is a provider's own web search."""


class Choice(Struct, frozen=True):
    """Which tools a model may or must use: those in `names`, or all if `names` is empty."""

    mode: Literal["auto", "none", "required"]
    names: tuple[str, ...] = ()


class Format(Struct, frozen=True):
    """The required format of a response: any JSON object, or one that matches a schema."""

    schema: JSON = None
    name: str | None = None
    strict: bool | None = None
    description: str | None = None


class Usage(Struct, frozen=True, gc=False):
    """Token counts. `input` includes cached tokens; `output` includes `reasoning`."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


Setting: TypeAlias = "JSON | Choice | Format | Usage | WebSearch | tuple[str, ...]"

SIGNATURE_LOST = "a signature that only its own provider can read"
REASONING_LOST = "reasoning that only its own provider can read"
_NOT_THERE = "that part is not in this conversation; take it from the conversation that you edit"


def position(line: int | None, path: JsonPath) -> str:
    """A position for messages: the JSON pointer, preceded by the line number if known."""
    return pointer(path) if line is None else f"{line}:{pointer(path)}"


class Loss(Struct, frozen=True):
    """Content that a target cannot express: its path in the source, and the reason.

    Its severity is `info` if the meaning stays the same, as for a time stamp, the id of a response,
    or a flag that has its default value.
    """

    path: JsonPath
    reason: str
    line: int | None = None
    """The line of a session file that the path leads into; None for a body."""
    severity: LossSeverity = "loss"

    @property
    def pointer(self) -> str:
        """The path in the source body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{position(self.line, self.path)}: {self.reason}"


def real_losses(losses: Sequence[Loss]) -> list[Loss]:
    """Return the losses that change a meaning."""
    return [loss for loss in losses if loss.severity == "loss"] if losses else []


class Finding(Struct, frozen=True):
    """A violation that a provider would refuse: the rule, the path, and whether it can be fixed."""

    code: str
    name: str
    severity: Severity
    path: JsonPath
    message: str
    fix: Fix | None = None
    line: int | None = None
    """The line of a session file that the path leads into; None for a body."""

    @property
    def pointer(self) -> str:
        """The path in the body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{position(self.line, self.path)}: {self.code} {self.name}: {self.message}"


class Change(Struct, frozen=True):
    """A change that repair made: the rule, the path, and a description."""

    code: str
    name: str
    path: JsonPath
    message: str
    line: int | None = None
    """The line of a session file that the path leads into; None for a body."""

    @property
    def pointer(self) -> str:
        """The path in the body before the repair, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{position(self.line, self.path)}: {self.code} {self.name}: {self.message}"


class BodySource(Struct, frozen=True, eq=False, gc=False):
    """The body that a conversation was read from, and the conversation as it was read."""

    body: JSON = None
    raw: bytes | None = None
    """The bytes of the body, if it arrived as bytes or text."""
    unknown_fields: tuple[JsonPath, ...] = ()
    """Paths of fields without a neutral form: their own wire gets them back, others lose them."""
    setting_paths: dict[str, JsonPath] = {}
    """The path of each setting in the body."""
    given: JSON | UnsetType = UNSET
    """The value that the caller passed, if it is not the full body; otherwise UNSET."""
    list_field: str = ""
    """The field whose list the caller gave instead of the full body; empty for a full body."""
    ordered: bool = False
    """True if the wire guarantees that results without ids follow the order of their calls."""
    corrections: tuple[tuple[JsonPath, str], ...] = ()
    """Values of a wrong JSON type, corrected in `body` but not in `given`: path and problem."""
    messages: tuple[Message, ...] | None = None
    tools: tuple[Tool, ...] | None = None
    settings: dict[str, Setting] | None = None
    parts_are_complete: bool = False
    """True if every part of these messages was read in full, as `Source.is_complete` says."""


NO_BODY = BodySource()
"""The source of a conversation that was made by hand."""


class Conversation(Struct, frozen=True, eq=False, gc=False):
    """Messages, tool definitions and settings: `Conversation([Message("user", "Hello")])`."""

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    settings: dict[str, Setting] = {}
    wire: str = ""
    """The wire it was read from; empty if it was made by hand."""
    kind: Kind = "request"
    source: BodySource = NO_BODY

    if TYPE_CHECKING:  # what `__post_init__` accepts beside the types of the fields

        def __init__(
            self,
            messages: Sequence[Message],
            tools: Sequence[Tool] = ...,
            settings: dict[str, Setting] = ...,
            wire: str = ...,
            kind: Kind = ...,
            source: BodySource = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        tuples = self.messages.__class__ is tuple and self.tools.__class__ is tuple
        if self.source is NO_BODY or not tuples:
            force_setattr(self, "messages", _tuple_of(Message, self.messages, "messages"))
            force_setattr(self, "tools", _tuple_of(Tool, self.tools, "tool definitions"))

    @property
    def ordered(self) -> bool:
        """True if the wire guarantees that results without ids follow the order of their calls."""
        return self.source.ordered

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

    def pair_of(self, part: Call | Result) -> Pair:
        """The pair that a call or result of this conversation belongs to.

        Raises:
            UsageError: The part is not in this conversation.
        """
        for pair in self.pairs():
            if pair.call is part or pair.result is part:
                return pair
        raise UsageError(_NOT_THERE)

    def replace(self, part: Part, new: Part) -> Conversation:
        """Replace one part, found by identity; everything else stays verbatim.

        If the id or name of a call changes, its result is updated too.

        Raises:
            UsageError: The part is not in this conversation, or the new one holds a value that is
                not JSON.
        """
        _require_json_part(new)
        edits: list[tuple[Part, Part]] = [(part, new)]
        if isinstance(part, Call) and isinstance(new, Call):
            result = self.pair_of(part).result
            if result is not None:
                followed = _follow_call(result, part, new)
                moved = (part.id, part.name) != (new.id, new.name) and followed != result
                # Broken arguments make a call of a special type a plain function call.
                retyped = part.family != "function" and part.args.broken != new.args.broken
                if moved or retyped:
                    edits.append((result, followed))
        return self._with_edits(edits)

    def rename_call(self, call: Call, name: str) -> Conversation:
        """Change the tool name of a call and of its result.

        If this makes pairing by name ambiguous, the pairs concerned get ids that the wire writes.

        Raises:
            UsageError: The call is not in this conversation, or the name is empty.
        """
        require_text(name, "the name of a tool")
        edited = self.replace(call, replace(call, name=name))
        calls, results = edited.calls(), edited.results()
        edits: list[tuple[Part, Part]] = []
        for pair in sorted(edited._pair_indexes() - edited._pair_indexes(without_ids=True)):
            call, result = calls[pair[0]], results[pair[1]]
            call_id = f"call_{call.id.removeprefix(MINTED)}"
            edits.append((call, replace(call, id=call_id, origin="wire")))
            edits.append((result, replace(result, call_id=call_id, origin="wire")))
        return edited._with_edits(edits) if edits else edited

    def _pair_indexes(self, *, without_ids: bool = False) -> set[tuple[int, int]]:
        """Return the position of each paired call among the calls and of its result among the
        results. With `without_ids`, pair them as a reader without the minted ids would."""
        calls, results = self.calls(), self.results()
        call_indexes = PartMap((call, n) for n, call in enumerate(calls))
        messages = self.messages
        if without_ids:
            messages = tuple(
                replace(message, parts=tuple(map(_without_minted_id, message.parts)))
                for message in messages
            )
            results = replace(self, messages=messages).results()
        result_indexes = PartMap((result, n) for n, result in enumerate(results))
        return {
            (call_indexes[pair.call], result_indexes[pair.result])
            for pair in pairs(messages, ordered=self.ordered)
            if pair.call is not None and pair.result is not None
        }

    def change_arguments(self, call: Call, arguments: LazyJson | JSON) -> Conversation:
        """Replace the arguments of a call by a dict or JSON text.

        Raises:
            UsageError: The call is not in this conversation, or the arguments are not JSON.
        """
        return self.replace(call, replace(call, args=arguments))

    def change_call_id(self, call: Call, call_id: str) -> Conversation:
        """Change the id of a call and of its result.

        Raises:
            UsageError: The call is not in this conversation, or the id is empty.
        """
        require_text(call_id, "the id of a call")
        return self.replace(call, replace(call, id=call_id, origin="wire"))

    def replace_result(self, call: Call, output: Output, *, error: bool = False) -> Conversation:
        """Replace the output of the result of a call.

        Raises:
            UsageError: The call is not in this conversation, or has no result.
        """
        result = self.pair_of(call).result
        if result is None:
            raise UsageError(f"the call {call.id} has no result")
        return self.replace(result, replace(result, output=output, error=error))

    def delete_pair(self, call: Call) -> Conversation:
        """Remove a call and its result, and messages that become empty.

        Raises:
            UsageError: The call is not in this conversation.
        """
        pair = self.pair_of(call)
        removed = [part for part in (pair.call, pair.result) if part is not None]
        messages: list[Message] = []
        for message in self.messages:
            parts = tuple(p for p in message.parts if not any(p is part for part in removed))
            if len(parts) == len(message.parts):
                messages.append(message)
            elif parts:
                messages.append(replace(message, parts=parts))
        return replace(self, messages=tuple(messages))

    def _with_edits(self, edits: list[tuple[Part, Part]]) -> Conversation:
        """Replace parts. Each new part keeps the part that it replaces as its original."""
        messages: list[Message] = []
        found = False
        for message in self.messages:
            parts = tuple(_edit(part, edits) for part in message.parts)
            edited = any(new is not old for new, old in zip(parts, message.parts, strict=True))
            found = found or edited
            messages.append(replace(message, parts=parts) if edited else message)
        if not found:
            raise UsageError(_NOT_THERE)
        return replace(self, messages=tuple(messages))

    @property
    def pristine(self) -> bool:
        """True if nothing was edited since the conversation was read."""
        source = self.source
        return (
            self.messages is source.messages
            and self.tools is source.tools
            and self.settings is source.settings
        )

    @property
    def same_tools(self) -> bool:
        """True if the tool definitions were not edited since the conversation was read."""
        return self.tools is self.source.tools

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


def _tuple_of(kind: type[T], values: object, what: str) -> tuple[T, ...]:
    """Return a list that a caller passed as a tuple. Raise UsageError for any other value."""
    if not isinstance(values, list | tuple):
        raise UsageError(f"expected a list of {what}, got {type(values).__name__}")
    for value in values:
        if not isinstance(value, kind):
            raise UsageError(f"expected {what} in the list, got {type(value).__name__}")
    return tuple(values)


def _edit(part: Part, edits: list[tuple[Part, Part]]) -> Part:
    """Return the replacement of a part, with the source and signature of the part, or the part."""
    for old, new in edits:
        if part is old:
            return replace(
                new,
                source=replace(old.source, original=old.original or old),
                signature=new.signature or old.signature,
            )
    return part


def _follow_call(result: Result, old: Call, new: Call) -> Result:
    """Return the result of a call whose id or name changed. From then on its id pairs it."""
    name = new.name if result.name == old.name else result.name
    return replace(result, call_id=new.id, name=name, origin="wire")
