"""What is wrong with the arguments of calls: looked at once for all rules about them.

Where a call has its arguments, and whether as text or as an object, is found out from the row that
wrote it: a trial call is written and looked at. Text is parsed only for targets that are known to
check it. Knows no rule and no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from json import JSONDecodeError, JSONDecoder
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from toolwire.conversation.id_map import NO_MAP
from toolwire.conversation.json import JSON, JsonPath, Object, get, parse, put, snake, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.parts import Call, Part, Source
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, FixedBody, Problem
from toolwire.lint.transforms import replace_parts
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block

Kind: TypeAlias = Literal["invalid", "empty", "double", "type", "merged"]

_TRIAL: Object = {"toolwire": 1}
_FUNCTIONS = ("function", "function-legacy")
"""Calls of any tool. Others take free text, or fields of their own."""
RAW = "_raw"
"""Where arguments are kept that are no object."""


class ArgumentFault(Struct, frozen=True, eq=False):
    """Arguments that a target refuses."""

    kind: Kind
    call: Call
    path: JsonPath
    given: JSON
    text: bool
    """Whether the wire sends arguments as text."""
    value: JSON | UnsetType = UNSET
    """What they mean; nothing if nobody can tell."""
    pieces: tuple[Object, ...] = ()
    """The objects that stand one after the other."""

    @property
    def who(self) -> str:
        """The call in words; an id that was made up here means nothing to anybody."""
        return (
            f"the call of {self.call.name}"
            if self.call.origin == "minted"
            else f"the call {self.call.id} of {self.call.name}"
        )

    def written(self, value: JSON) -> JSON:
        """A value in the form in which the wire sends arguments."""
        return text_of(value) if self.text else value


class Form(Struct, frozen=True):
    """Where a row has the arguments, and how."""

    path: JsonPath
    text: bool


@lru_cache(256)
def _form(row: Block) -> Form | None:
    """Where a row has the arguments of a call: found by writing one."""
    if row.write is None:
        return None
    trial = Call(
        "toolwire",
        "toolwire",
        LazyJson.from_value(_TRIAL),
        "wire",
        row.family or "function",
        source=Source(spec=row),
    )
    try:
        found = list(
            _places(
                row.write(
                    trial, EncodeContext("", "request", ids=None, names={}, reverse_map=NO_MAP)
                ),
                (),
            )
        )
    except (
        KeyError,
        TypeError,
        ValueError,
        AssertionError,
    ):  # a row that can write only what it has read
        return None
    return found[0] if len(found) == 1 else None


def _places(value: JSON, at: JsonPath) -> Iterator[Form]:
    if value == _TRIAL:
        yield Form(at, text=False)
    elif value == text_of(_TRIAL):
        yield Form(at, text=True)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*at, key))


_LOOKED: WeakKeyDictionary[Facts, list[ArgumentFault]] = WeakKeyDictionary()


def argument_faults(facts: Facts, kind: Kind) -> list[ArgumentFault]:
    """The calls whose arguments have this fault."""
    if (
        not facts.profile.arguments_format
        or not facts.calls
        or facts.conversation.kind != "request"
    ):
        return []
    found = _LOOKED.get(facts)
    if found is None:
        found = _LOOKED[facts] = list(_looked(facts))
    return [fault for fault in found if fault.kind == kind] if found else found


def _looked(facts: Facts) -> Iterator[ArgumentFault]:
    wants = facts.profile.arguments_format
    if not facts.own_wire:
        yield from _faults_elsewhere(facts, wants)
        return
    for call in facts.calls:
        row = call.spec
        if (
            not isinstance(row, Block)
            or row.family not in _FUNCTIONS
            or not isinstance(call.raw, dict)
        ):
            continue
        form = _form(row)
        if form is None:
            continue
        quick: JSON = call.raw
        for step in form.path:
            quick = quick.get(step) if quick.__class__ is dict else None  # type: ignore[arg-type]
        if quick.__class__ is (
            str if form.text and wants == "text" else None if form.text else dict
        ):
            continue
        where, given = _given(call.raw, form.path)
        if given.__class__ is dict and not form.text:
            continue
        parent = get(call.raw, where[:-1])
        if isinstance(given, UnsetType) and not (form.text and isinstance(parent, dict)):
            continue
        fault = _fault(
            call, (*call.path, *where), None if isinstance(given, UnsetType) else given, form, wants
        )
        if fault is not None:
            yield fault


def _faults_elsewhere(facts: Facts, wants: str) -> Iterator[ArgumentFault]:
    """Faults of arguments that go to another wire, whose writer puts them into the right form.

    What is left is text inside text, and text that is not JSON where the target parses it.
    """
    if wants == "text":
        return
    for call in facts.calls:
        text = call.args.content
        if call.family not in _FUNCTIONS or not isinstance(text, str) or not text.strip():
            continue
        fault = _of_text(call, call.path, text, Form(call.path, text=True), wants)
        if fault is not None and (fault.kind == "double" or wants == "json"):
            yield fault


def _given(raw: Object, at: JsonPath) -> tuple[JsonPath, JSON | UnsetType]:
    """What stands at a place, in either spelling of its fields."""
    where: tuple[str | int, ...] = ()
    value: JSON | UnsetType = raw
    for step in at:
        held = value if isinstance(value, dict) else {}
        name = str(step) if str(step) in held or snake(str(step)) not in held else snake(str(step))
        where = (*where, name)
        value = held.get(name, UNSET)
    return where, value


def _fault(call: Call, at: JsonPath, given: JSON, form: Form, wants: str) -> ArgumentFault | None:
    if isinstance(given, str):
        return _of_text(call, at, given, form, wants)
    if form.text:
        if given is None:
            return ArgumentFault("type", call, at, given, True, {})
        if wants == "object" and isinstance(given, dict):  # a template wants the object, and has it
            return None
        return ArgumentFault("type", call, at, given, True, given)
    return ArgumentFault("type", call, at, given, False) if given is not None else None


def _of_text(call: Call, at: JsonPath, given: str, form: Form, wants: str) -> ArgumentFault | None:
    if not given or given.isspace():
        return ArgumentFault("empty", call, at, given, form.text, {})
    try:
        value = parse(given)
    except ValueError:
        pieces = _pieces(given)
        return ArgumentFault(
            "merged" if pieces else "invalid", call, at, given, form.text, pieces=pieces
        )
    if isinstance(value, dict):
        return None if form.text else ArgumentFault("type", call, at, given, False, value)
    inside = _inside(value)
    if inside is not None:
        return ArgumentFault("double", call, at, given, form.text, inside)
    if wants != "object":
        return None
    return ArgumentFault("type", call, at, given, form.text, {} if value is None else UNSET)


def _inside(value: JSON) -> Object | None:
    """The object in a text in a text."""
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


def _pieces(text: str) -> tuple[Object, ...]:
    """The objects of a text that is nothing but objects one after the other, if there are
    several.
    """
    rest = text.strip()
    if rest[:1] != "{" or rest[-1:] != "}":
        return ()
    read = JSONDecoder()
    out: list[Object] = []
    at = 0
    while at < len(rest):
        try:
            value, at = read.raw_decode(rest, at)
        except (JSONDecodeError, RecursionError):
            return ()
        if not isinstance(value, dict):
            return ()
        out.append(value)
        while at < len(rest) and rest[at] in " \t\r\n":
            at += 1
    return tuple(out) if len(out) > 1 else ()


def report_faults(facts: Facts, kind: Kind, why: str) -> Iterator[Problem]:
    """A finding for each; safe where it is clear what is meant."""
    for fault in argument_faults(facts, kind):
        shown = fault.given if isinstance(fault.given, str) else text_of(fault.given)
        said = f"the arguments of {fault.who} {why}: {shown[:60]!r}"
        yield fault.path, said, "unsafe" if isinstance(fault.value, UnsetType) else "safe"


def set_arguments(
    facts: Facts, found: Iterable[tuple[ArgumentFault, JSON, str]]
) -> Fixed | FixedBody | None:
    """The history with other arguments in some calls."""
    if not facts.own_wire:
        return _replace_arguments(facts, list(found))
    body = facts.body
    changes: list[tuple[JsonPath, str]] = []
    for fault, value, what in found:
        body = put(body, fault.path, fault.written(value))
        changes.append((fault.path, f"{fault.who}: {what}"))
    return FixedBody(body, tuple(changes)) if changes else None


def _replace_arguments(facts: Facts, found: list[tuple[ArgumentFault, JSON, str]]) -> Fixed | None:
    new: dict[int, Part] = {
        id(fault.call): replace(fault.call, args=LazyJson.from_value(value))
        for fault, value, _ in found
    }
    changes = tuple((fault.path, f"{fault.who}: {what}") for fault, _, what in found)
    return Fixed(replace_parts(facts.conversation, new), changes) if new else None


def fix_arguments(facts: Facts, kind: Kind, what: str, *, unsafe: bool) -> Fixed | FixedBody | None:
    """The body with the arguments as they are meant; as they are, in a field of their own, where
    nobody can tell."""
    found: list[tuple[ArgumentFault, JSON, str]] = []
    for fault in argument_faults(facts, kind):
        if not isinstance(fault.value, UnsetType):
            found.append((fault, fault.value, what))
        elif unsafe:
            found.append((fault, {RAW: fault.given}, f"what was given is kept under `{RAW}`"))
    return set_arguments(facts, found)
