"""Faults in the arguments of calls, found in one pass for all rules about them, and their fixes.

The path of the arguments in a block, and whether they are text or an object there, is determined by
writing a trial call with the spec of the block. Text is parsed only for targets that check it. This
module knows no rule and no wire by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from json import JSONDecoder
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, put, snake, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Source
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedBody, FixedConversation, Problem
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block

Kind: TypeAlias = Literal["invalid", "empty", "double", "type", "merged"]

_TRIAL: Object = {"toolwire": 1}
_FUNCTION_FAMILIES = ("function", "function-legacy")
"""Calls with JSON arguments. Others have free text or separate fields."""
_FREE_TEXT = "custom"
"""Calls with free text, which may look like JSON."""
_TWO_OBJECTS = re.compile(r"\}\s*\{")
RAW = "_raw"
"""The field in which a fix stores arguments that are not an object."""


class ArgumentFault(Struct, frozen=True, eq=False):
    """Arguments that a target refuses."""

    kind: Kind
    call: Call
    path: JsonPath
    raw: JSON
    """The arguments in the body."""
    is_text: bool
    """True if the wire sends arguments as text."""
    value: JSON | UnsetType = UNSET
    """The intended arguments; UNSET if they are not certain."""
    pieces: tuple[Object, ...] = ()
    """The objects of concatenated arguments."""

    @property
    def subject(self) -> str:
        """The call as the subject of a message; without its id if that was minted."""
        if self.call.origin == "minted":
            return f"the call to {self.call.name}"
        return f"the call {self.call.id} to {self.call.name}"

    def to_wire(self, value: JSON) -> JSON:
        """A value in the form that the wire uses for arguments."""
        return text_of(value) if self.is_text else value


class _ArgumentField(Struct, frozen=True):
    """The field of a block that holds the arguments."""

    path: JsonPath
    is_text: bool


@lru_cache(256)
def _argument_field(spec: Block) -> _ArgumentField | None:
    """The field for arguments in blocks of a spec, determined by writing a trial call."""
    if spec.write is None:
        return None
    trial = Call(
        "toolwire",
        "toolwire",
        args=LazyJson.from_value(_TRIAL),
        origin="wire",
        family=spec.family or "function",
        source=Source(spec=spec),
    )
    context = EncodeContext("", "request", ids=None, names={}, reverse_map=NO_MAP)
    try:
        fields = list(_trial_fields(spec.write(trial, context), ()))
    except (KeyError, TypeError, ValueError, AssertionError):  # needs a part that was read
        return None
    return fields[0] if len(fields) == 1 else None


def _trial_fields(value: JSON, path: JsonPath) -> Iterator[_ArgumentField]:
    if value == _TRIAL:
        yield _ArgumentField(path, is_text=False)
    elif value == text_of(_TRIAL):
        yield _ArgumentField(path, is_text=True)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _trial_fields(inner, (*path, key))


def merged_objects(call: Call) -> tuple[Object, ...]:
    """The argument objects of several calls that are concatenated in one call."""
    text = call.args.content
    if not isinstance(text, str) or _TWO_OBJECTS.search(text) is None:
        return ()
    return _split_objects(text) if call.args.broken else ()


@once_per_history
def accepted_merges(facts: Facts) -> list[ArgumentFault]:
    """Calls with concatenated arguments on a wire whose server is not known to refuse them."""
    is_refused = facts.profile.arguments_format not in ("text", "")
    if is_refused or facts.conversation.kind != "request":
        return []
    if not facts.own_wire:
        return []
    return [
        ArgumentFault(
            "merged", call, path=_path_of_arguments(call), raw=None, is_text=True, pieces=pieces
        )
        for call in facts.calls
        if call.family in _FUNCTION_FAMILIES and (pieces := merged_objects(call))
    ]


def _path_of_arguments(call: Call) -> JsonPath:
    field = _argument_field(call.spec) if isinstance(call.spec, Block) else None
    return call.path if field is None else (*call.path, *field.path)


def faults_of_kind(facts: Facts, kind: Kind) -> list[ArgumentFault]:
    """The calls with one kind of fault in their arguments."""
    return [fault for fault in argument_faults(facts) if fault.kind == kind]


def has_accepted_arguments(facts: Facts) -> bool:
    """True if the target accepts the arguments of every call. Usually their types are enough to
    decide."""
    wants, seen = facts.profile.arguments_format, facts.observations
    if not seen.calls:
        return True
    if not (wants or facts.profile.requires_arguments):
        return not accepted_merges(facts)
    if wants == "object" and seen.holds(Observation.ARGUMENTS_ARE_OBJECTS):
        return True
    if wants == "text" and seen.holds(Observation.ARGUMENTS_ARE_TEXT):
        return not accepted_merges(facts)
    return not argument_faults(facts) and not accepted_merges(facts)


@once_per_history
def argument_faults(facts: Facts) -> list[ArgumentFault]:
    """The calls with a fault in their arguments."""
    profile = facts.profile
    if not (profile.arguments_format or profile.requires_arguments):
        return []
    if not facts.calls or facts.conversation.kind != "request":
        return []
    find = _faults_in_body if facts.own_wire else _faults_elsewhere
    return list(find(facts, profile.arguments_format))


def _faults_in_body(facts: Facts, wants: str) -> Iterator[ArgumentFault]:
    """Faults of arguments in the body of the target's own wire."""
    for call in facts.calls:
        block, spec = call.source.raw, call.source.spec
        if (
            not isinstance(spec, Block)
            or spec.family not in _FUNCTION_FAMILIES
            or not isinstance(block, dict)
        ):
            continue
        field = _argument_field(spec)
        if field is None or _has_expected_type(block, field, wants):
            continue
        path, raw = _read_field(block, field.path)
        if raw.__class__ is dict and not field.is_text:
            continue
        if isinstance(raw, UnsetType):
            if not isinstance(get(block, path[:-1]), dict):
                continue
            raw = None
        if raw is None and not field.is_text and not facts.profile.requires_arguments:
            continue
        if raw is not None and not wants:
            continue
        fault = _fault(call, (*call.path, *path), raw=raw, is_text=field.is_text, wants=wants)
        if fault is not None:
            yield fault


def _has_expected_type(block: Object, field: _ArgumentField, wants: str) -> bool:
    """True if the type alone shows that there is no fault."""
    value: JSON = block
    for step in field.path:
        value = value.get(step) if value.__class__ is dict else None  # type: ignore[arg-type]
    if field.is_text:
        return wants == "text" and value.__class__ is str
    return value.__class__ is dict


def _faults_elsewhere(facts: Facts, wants: str) -> Iterator[ArgumentFault]:
    """Faults of arguments that go to another wire, whose encoder writes the right form.

    Two faults remain: JSON text inside a JSON string, and blank or invalid text if the target
    parses it. Empty text is written as an empty object.
    """
    if wants in ("", "text"):
        return
    for call in facts.calls:
        text = call.args.content
        if call.family == _FREE_TEXT or not isinstance(text, str) or not text:
            continue
        fault = _fault_in_text(call, call.path, text=text, is_text=True, wants=wants)
        if fault is not None and (fault.kind == "double" or wants == "json"):
            yield fault


def _read_field(block: Object, path: JsonPath) -> tuple[JsonPath, JSON | UnsetType]:
    """The path and value of a field whose names may be in camel case or snake case."""
    actual_path: JsonPath = ()
    value: JSON | UnsetType = block
    for step in path:
        parent = value if isinstance(value, dict) else {}
        name = str(step)
        if name not in parent and snake(name) in parent:
            name = snake(name)
        actual_path = (*actual_path, name)
        value = parent.get(name, UNSET)
    return actual_path, value


def _fault(
    call: Call, path: JsonPath, *, raw: JSON, is_text: bool, wants: str
) -> ArgumentFault | None:
    if isinstance(raw, str):
        return _fault_in_text(call, path, text=raw, is_text=is_text, wants=wants)
    if not is_text:
        meant: JSON | UnsetType = {} if raw is None else UNSET
        return ArgumentFault("type", call, path=path, raw=raw, is_text=False, value=meant)
    if wants == "object" and isinstance(raw, dict):  # as the chat template of the target needs it
        return None
    value = {} if raw is None else raw
    return ArgumentFault("type", call, path=path, raw=raw, is_text=True, value=value)


def _fault_in_text(
    call: Call, path: JsonPath, *, text: str, is_text: bool, wants: str
) -> ArgumentFault | None:
    def fault(
        kind: Kind, value: JSON | UnsetType = UNSET, pieces: tuple[Object, ...] = ()
    ) -> ArgumentFault:
        return ArgumentFault(
            kind, call, path=path, raw=text, is_text=is_text, value=value, pieces=pieces
        )

    if not text or text.isspace():
        return fault("empty", {})
    try:
        value = parse(text)
    except ValueError:
        pieces = _split_objects(text)
        return fault("merged" if pieces else "invalid", pieces=pieces)
    if isinstance(value, dict):
        return None if is_text else fault("type", value)
    encoded = _decode_nested(value)
    if encoded is not None:
        return fault("double", encoded)
    if wants != "object":
        return None
    return fault("type", {} if value is None else UNSET)


def _decode_nested(value: JSON) -> Object | None:
    """The object that is encoded as a JSON string once or twice; otherwise None."""
    for _ in range(2):
        if not isinstance(value, str) or value.strip()[:1] not in ("{", '"'):
            return None
        try:
            value = parse(value)
        except ValueError:
            return None
        if isinstance(value, dict):
            return value
    return None


def _split_objects(text: str) -> tuple[Object, ...]:
    """The objects of a text that consists of two or more concatenated JSON objects."""
    text = text.strip()
    if text[:1] != "{" or text[-1:] != "}":
        return ()
    decoder = JSONDecoder()
    objects: list[Object] = []
    position = 0
    while position < len(text):
        try:
            start, (_, position) = position, decoder.raw_decode(text, position)
            value = parse(text[start:position])
        except (ValueError, RecursionError):
            return ()
        if not isinstance(value, dict):
            return ()
        objects.append(value)
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
    return tuple(objects) if len(objects) > 1 else ()


def report_faults(facts: Facts, kind: Kind, why: str) -> Iterator[Problem]:
    """A finding for each fault."""
    for fault in faults_of_kind(facts, kind):
        text = fault.raw if isinstance(fault.raw, str) else text_of(fault.raw)
        message = f"the arguments of {fault.subject} {why}: {text[:60]!r}"
        yield fault.path, message, "safe"


def set_arguments(
    facts: Facts, edits: Iterable[tuple[ArgumentFault, JSON, str]]
) -> FixedConversation | FixedBody | None:
    """Set the arguments of calls. Each edit is a fault, the new arguments and a message."""
    if not facts.own_wire:
        return _replace_arguments(facts, list(edits))
    body = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for fault, value, message in edits:
        body = put(body, fault.path, fault.to_wire(value))
        changes.append((fault.path, f"{fault.subject}: {message}"))
    return FixedBody(body, tuple(changes)) if changes else None


def _replace_arguments(
    facts: Facts, edits: list[tuple[ArgumentFault, JSON, str]]
) -> FixedConversation | None:
    new: PartMap[Part, Part] = PartMap(
        (fault.call, replace(fault.call, args=LazyJson.from_value(value)))
        for fault, value, _ in edits
    )
    changes = tuple((fault.path, f"{fault.subject}: {message}") for fault, _, message in edits)
    return FixedConversation(replace_parts(facts.conversation, new), changes) if edits else None


def fix_arguments(facts: Facts, kind: Kind, what: str) -> FixedConversation | FixedBody | None:
    """Set the intended arguments. If they are not certain, store the raw arguments in a field of an
    object."""
    edits: list[tuple[ArgumentFault, JSON, str]] = []
    for fault in faults_of_kind(facts, kind):
        if not isinstance(fault.value, UnsetType):
            edits.append((fault, fault.value, what))
        else:
            edits.append((fault, {RAW: fault.raw}, f"the raw arguments are stored under `{RAW}`"))
    return set_arguments(facts, edits)
