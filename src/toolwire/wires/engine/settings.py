"""Settings as rows: a neutral name, a place in the body, a reader and a writer.

Whatever no row reads stays in the body for its own wire and is a loss for every other. Knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import Conversation, Setting
from toolwire.conversation.parts import Message
from toolwire.wires.engine.encode_context import EncodeContext


def _same(value: JSON) -> Setting | UnsetType:
    return value


def _plain(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return list(value) if isinstance(value, tuple) else value  # type: ignore[return-value]


ReadSetting: TypeAlias = "Callable[[JSON], Setting | UnsetType]"
WriteSetting: TypeAlias = "Callable[[Setting, EncodeContext], JSON | UnsetType]"


class SettingSpec(Struct, frozen=True, eq=False):
    """One setting of a wire. A reader returns UNSET for "this says nothing"; a writer, for "this
    cannot be said here"."""

    name: str
    path: tuple[str, ...]
    read: ReadSetting = _same
    write: WriteSetting | None = _plain
    knows: frozenset[str] = frozenset()
    """Which leaves of an object it understands, as dotted paths; none named means all."""


_BOXES = (list, dict)
UNREADABLE = (KeyError, TypeError, AttributeError, ValueError, IndexError)
"""What a reader raises if a value is not what it should be."""


class SettingsRead(Struct, frozen=True):
    """What was read from a body: the settings, where each stood, and the paths of what nobody
    understood."""

    values: dict[str, Setting]
    places: dict[str, JsonPath]
    unknown: tuple[JsonPath, ...]


class _Index(Struct, frozen=True):
    """The rows of a wire, by the top-level field they start from and by the setting they write."""

    readers: dict[str, tuple[SettingSpec, ...]]
    single: dict[str, SettingSpec]
    """Fields that are one setting, as most are."""
    writers: dict[str, SettingSpec]


_INDEXES: dict[int, tuple[tuple[SettingSpec, ...], _Index]] = {}
"""By the identity of the rows, which are kept: there are only as many as there are wires, and
finding them must cost nothing."""


def _index(fields: tuple[SettingSpec, ...]) -> _Index:
    known = _INDEXES.get(id(fields))
    if known is None:
        readers: dict[str, tuple[SettingSpec, ...]] = {}
        for one in fields:
            readers[one.path[0]] = (*readers.get(one.path[0], ()), one)
        if len(_INDEXES) > 500:  # somebody makes rows by the way
            _INDEXES.clear()
        single = {
            key: rows[0]
            for key, rows in readers.items()
            if len(rows) == 1 and len(rows[0].path) == 1
        }
        made = _Index(readers, single, {one.name: one for one in fields if one.write is not None})
        known = _INDEXES[id(fields)] = fields, made
    return known[1]


def read_settings(
    fields: tuple[SettingSpec, ...], body: Object, known: frozenset[str]
) -> SettingsRead:
    """The settings of a body; `known` are top-level fields that somebody else reads."""
    values: dict[str, Setting] = {}
    places: dict[str, JsonPath] = {}
    extra: list[JsonPath] = []
    index = _index(fields)
    single, readers = index.single, index.readers
    for key, item in body.items():
        if key in known or item is None or (not item and item.__class__ in _BOXES):
            continue
        one = single.get(key)
        if one is not None:
            try:
                meant = one.read(item)
            except UNREADABLE:
                meant = UNSET
            if meant is UNSET:
                extra.append((key,))
                continue
            values[one.name] = meant
            places[one.name] = one.path
            if one.knows:
                extra += _strange(one, item)
        elif (rows := readers.get(key)) is None or not _read(
            rows, key, item, values, places, extra
        ):
            extra.append((key,))
    return SettingsRead(values, places, tuple(extra))


def _read(
    rows: tuple[SettingSpec, ...],
    key: str,
    item: JSON,
    values: dict[str, Setting],
    places: dict[str, JsonPath],
    extra: list[JsonPath],
) -> bool:
    """Read what the rows find in one top-level field; False if none of it was understood."""
    seen: set[JsonPath] = set()
    for one in rows:
        value = item if len(one.path) == 1 else get(item, one.path[1:])
        if value is None or isinstance(value, UnsetType):
            continue
        try:
            meant = one.read(value)
        except UNREADABLE:
            continue
        if not isinstance(meant, UnsetType):
            seen.add(one.path)
            values[one.name] = meant
            places[one.name] = one.path
            if one.knows:
                extra += _strange(one, value)
    if (key,) not in seen and seen and isinstance(item, dict):
        _beyond(item, (key,), seen, {path[:n] for path in seen for n in range(1, len(path))}, extra)
    return bool(seen)


def _strange(one: SettingSpec, value: JSON) -> list[JsonPath]:
    """The leaves of a setting that its row does not understand."""
    if (
        isinstance(value, dict)
        and one.knows.issuperset(value)
        and not any(item.__class__ is dict for item in value.values())
    ):
        return []
    return [one.path + leaf for leaf in _leaves(value) if ".".join(map(str, leaf)) not in one.knows]


def _beyond(
    value: Object, at: JsonPath, seen: set[JsonPath], inside: set[JsonPath], extra: list[JsonPath]
) -> None:
    for key, item in value.items():
        path = (*at, key)
        if path in seen or item is None or (not item and item.__class__ in _BOXES):
            continue
        if path in inside and isinstance(item, dict):
            _beyond(item, path, seen, inside, extra)
        else:
            extra.append(path)


def _leaves(value: JSON, path: JsonPath = ()) -> Iterator[JsonPath]:
    """The paths of everything in a value that says something: a count of nought says nothing."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif value not in (None, 0, []):
        yield path


def write_settings(
    fields: tuple[SettingSpec, ...], conversation: Conversation, context: EncodeContext
) -> Object:
    """A new body with the settings in it: on the wire they came from, all of the old body with what
    was changed."""
    own = (
        conversation.wire == context.wire
        and conversation.kind == context.kind
        and isinstance(conversation.source.body, dict)
    )
    body: Object = dict(conversation.source.body) if own else {}  # type: ignore[arg-type]
    before = conversation.source.settings if own else None
    writers = _index(fields).writers
    places = conversation.source.setting_paths
    for name, value in conversation.settings.items():
        if before.__class__ is dict and name in before and before[name] == value:
            continue
        place = context.setting_path = places.get(name) or (name,)
        one = writers.get(name)
        told = len(context.losses)
        written = UNSET if one is None or one.write is None else one.write(value, context)
        if one is None or written is UNSET:
            if len(context.losses) == told:  # the writer may have said better why
                context.report_loss(place, f"this wire has no such setting: {name}")
        elif len(one.path) == 1:
            body[one.path[0]] = written
        else:
            body = put(body, one.path, written)  # type: ignore[assignment]
    if not own:
        for path in conversation.source.unknown_fields:
            context.report_loss(path, "no such field on this wire")
    return body


_USER = 64
"""Characters that a user's name may have, where that is limited:
https://github.com/maximhq/bifrost/pull/1000."""


def write_user(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """Who asks, where only a short name is taken: other wires allow a longer one, and it would be
    refused."""
    if isinstance(value, str) and len(value) <= _USER:
        return value
    context.report_loss(
        context.setting_path, f"the user's name is no text of at most {_USER} characters"
    )
    return UNSET


def reasoning_budget(field: str, least: int) -> tuple[ReadSetting, WriteSetting]:
    """How a budget for thoughts is read and written where it is switched on and off; a smaller one
    than `least` is refused."""

    def read(value: JSON) -> Setting | UnsetType:
        given = value if isinstance(value, dict) else {}
        budget = given.get(field)
        if given.get("type") == "enabled" and isinstance(budget, int):
            return budget
        return 0 if given.get("type") == "disabled" else UNSET

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        if value == 0:
            return {"type": "disabled"}
        return (
            {"type": "enabled", field: value}
            if isinstance(value, int) and value >= least
            else UNSET
        )

    return read, write


def put_tools(body: Object, tools: list[JSON]) -> None:
    """Put the tools on offer into a body: an empty list is refused by most servers."""
    if tools:
        body["tools"] = tools
    else:
        body.pop("tools", None)


def write_finish_reason(
    message: Message, says: Mapping[str, str], means: Mapping[str, str], context: EncodeContext
) -> str | None:
    """Why the model stopped, in this wire's words; a reason it has no word for is reported."""
    if message.stop is None:
        return None
    word = says.get(message.stop)
    if word is None or means.get(word) != message.stop:
        context.report_loss(
            message.path, f"this wire has no word for the stop reason `{message.stop}`"
        )
    return word or says["stop"]
