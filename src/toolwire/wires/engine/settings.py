"""Settings as tables: each spec has a neutral name, a path in the body, a reader and a writer.

A field that no spec reads is kept for its own wire and is a loss for any other wire. Knows no wire
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import filterfalse
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import force_setattr

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.model import Conversation, Setting, Usage
from toolwire.conversation.parts import Message
from toolwire.wires.engine.encode_context import BREAKPOINT_FIELDS, EncodeContext
from toolwire.wires.engine.incidental import setting_matters
from toolwire.wires.engine.specs import UNREADABLE


def _write_unchanged(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    return list(value) if isinstance(value, tuple) else value  # type: ignore[return-value]


ReadSetting: TypeAlias = "Callable[[JSON], Setting | UnsetType]"
WriteSetting: TypeAlias = "Callable[[Setting, EncodeContext], JSON | UnsetType]"


class SettingSpec(Struct, frozen=True, eq=False):
    """One setting of a wire.

    `read` returns UNSET if the value has no neutral form, and None if it has no effect; without
    `read`, the value itself is neutral. `write` returns UNSET if the wire cannot hold the value.
    """

    name: str
    path: tuple[str, ...]
    read: ReadSetting | None = None
    write: WriteSetting | None = _write_unchanged
    knows: frozenset[str] = frozenset()
    """The known fields of an object, as dotted paths, including everything inside them; an empty
    path if the value need not be an object. An empty set if all fields are known."""
    reads_empty: bool = False
    """True if an empty object has a meaning."""
    field: str = ""
    """The top-level field of the path, and the path inside it."""
    inner: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "field", self.path[0])
        force_setattr(self, "inner", self.path[1:])


_CONTAINERS = (list, dict)


class SettingsRead(Struct, frozen=True, gc=False):
    """The settings of a body, the path of each, and the paths of the unknown fields."""

    values: dict[str, Setting]
    paths: dict[str, JsonPath]
    unknown: Sequence[JsonPath]


class _FieldSpecs(Struct, frozen=True):
    """The specs that read one top-level field or a field inside it."""

    specs: tuple[SettingSpec, ...]
    whole: tuple[int, ...]
    """The positions of the specs that read the whole field."""
    inner: dict[str | int, tuple[int, ...]]
    """The positions of the specs that read something inside it, by the next step of their path."""

    @staticmethod
    def of(specs: tuple[SettingSpec, ...]) -> _FieldSpecs:
        """Index specs of one top-level field."""
        whole = tuple(n for n, spec in enumerate(specs) if not spec.inner)
        inner: dict[str | int, tuple[int, ...]] = {}
        for n, spec in enumerate(specs):
            if n not in whole:
                inner[spec.inner[0]] = (*inner.get(spec.inner[0], ()), n)
        return _FieldSpecs(specs, whole, inner)

    def present_in(self, item: JSON) -> list[SettingSpec]:
        """The specs that may read something of a value, in order: a later one overrides."""
        positions = list(self.whole)
        if isinstance(item, dict):
            for name in item:
                positions += self.inner.get(name, ())
        return [self.specs[n] for n in sorted(positions)]


class SettingTable(Struct, frozen=True, eq=False):
    """The settings of a body, by the top-level field that they read and by the setting name. Made
    by `setting_table` when a wire is imported."""

    readers: dict[str, _FieldSpecs]
    single: dict[str, SettingSpec]
    """Top-level fields that are exactly one setting, as most are."""
    writers: dict[str, SettingSpec]
    fields: dict[str, str]
    """Setting → top-level field, for settings that are written unchanged, as most are."""


def setting_table(*specs: SettingSpec) -> SettingTable:
    """Index the specs of all settings of a request, or of a response."""
    readers: dict[str, tuple[SettingSpec, ...]] = {}
    for spec in specs:
        readers[spec.field] = (*readers.get(spec.field, ()), spec)
    single = {
        key: specs[0] for key, specs in readers.items() if len(specs) == 1 and not specs[0].inner
    }
    writers = {spec.name: spec for spec in specs if spec.write is not None}
    unchanged = {
        name: spec.field
        for name, spec in writers.items()
        if spec.write is _write_unchanged and not spec.inner
    }
    fields_of = {key: _FieldSpecs.of(specs) for key, specs in readers.items()}
    return SettingTable(fields_of, single, writers, unchanged)


def read_settings(table: SettingTable, body: Object, known: frozenset[str]) -> SettingsRead:
    """Read the settings of a body. `known` are top-level fields that other code reads."""
    values: dict[str, Setting] = {}
    paths: dict[str, JsonPath] = {}
    unknown: list[JsonPath] = []
    single = table.single
    for key in filterfalse(known.__contains__, body):
        item = body[key]
        if item is None:
            continue
        spec = single.get(key)
        if spec is None:
            if not _says_nothing(key, item) and not _read_field(
                table.readers.get(key), key, item, values=values, paths=paths, unknown=unknown
            ):
                unknown.append((key,))
            continue
        if not item and type(item) in _CONTAINERS and not spec.reads_empty:
            continue
        value: Setting | UnsetType = item
        read = spec.read
        if read is not None:
            try:
                value = read(item)
            except UNREADABLE:
                value = UNSET
        if value is UNSET:
            unknown.append((key,))
        elif value is not None:
            name = spec.name
            values[name] = value
            paths[name] = spec.path
            if spec.knows and not (item.__class__ is dict and spec.knows.issuperset(item)):
                _collect_unknown(item, spec.path, "", spec.knows, unknown)
    return SettingsRead(values, paths, unknown)


def _says_nothing(key: str, item: JSON) -> bool:
    """True for an empty object or list, and for a cache breakpoint."""
    return (not item and type(item) in _CONTAINERS) or key in BREAKPOINT_FIELDS


def _read_value(spec: SettingSpec, item: JSON) -> Setting | UnsetType:
    """The neutral form of a value; UNSET if it has none, None if it has no effect."""
    if spec.read is None:
        return item
    try:
        return spec.read(item)
    except UNREADABLE:
        return UNSET


def read_usage(table: SettingTable, body: Object) -> Usage | None:
    """Read only the token usage of a response."""
    spec = table.writers["usage"]
    item = get(body, spec.path)
    if not item or isinstance(item, UnsetType):
        return None
    usage = _read_value(spec, item)
    return usage if isinstance(usage, Usage) else None


def _read_field(
    specs: _FieldSpecs | None,
    key: str,
    item: JSON,
    *,
    values: dict[str, Setting],
    paths: dict[str, JsonPath],
    unknown: list[JsonPath],
) -> bool:
    """Read the settings of one top-level field; return False if none of it is known."""
    if specs is None:
        return False
    read: set[JsonPath] = set()
    for spec in specs.present_in(item):
        raw = get(item, spec.inner)
        if raw is None or isinstance(raw, UnsetType):
            continue
        value = _read_value(spec, raw)
        if not isinstance(value, UnsetType):
            read.add(spec.path)
            if value is None:
                continue
            values[spec.name] = value
            paths[spec.name] = spec.path
            if spec.knows:
                _collect_unknown(raw, spec.path, "", spec.knows, unknown)
    if (key,) not in read and read and isinstance(item, dict):
        parents = {path[:n] for path in read for n in range(1, len(path))}
        _collect_unread(item, (key,), read, parents, unknown)
    return bool(read)


def _collect_unknown(
    value: JSON, path: JsonPath, name: str, knows: frozenset[str], unknown: list[JsonPath]
) -> None:
    """Append to `unknown` the paths of the leaves that a spec does not know, except null, false,
    zero and empty lists. `name` is the dotted path inside the setting."""
    if not isinstance(value, dict):
        if name not in knows and value not in (None, 0, []):
            unknown.append(path)
        return
    for key, item in value.items():
        inner = f"{name}.{key}" if name else key
        if inner not in knows:
            _collect_unknown(item, (*path, key), inner, knows, unknown)


def _collect_unread(
    value: Object,
    path: JsonPath,
    read: set[JsonPath],
    parents: set[JsonPath],
    unknown: list[JsonPath],
) -> None:
    """Append to `unknown` the paths in an object that are neither in `read` nor parents of
    these."""
    for key, item in value.items():
        item_path = (*path, key)
        if item_path in read or item is None or (not item and type(item) in _CONTAINERS):
            continue
        if item_path in parents and isinstance(item, dict):
            _collect_unread(item, item_path, read, parents, unknown)
        else:
            unknown.append(item_path)


def write_settings(
    table: SettingTable, conversation: Conversation, context: EncodeContext
) -> Object:
    """Return a new body with the settings.

    On the wire that the conversation was read from, it is a copy of the source body with the
    changed settings.
    """
    source, losses = conversation.source, context.losses
    body: Object = {}
    unchanged: Mapping[str, Setting] = {}
    same_wire = context.native and isinstance(source.body, dict)
    if same_wire:
        body = dict(source.body)  # type: ignore[arg-type]
        unchanged = source.settings or {}
    context.setting_paths = source.setting_paths
    for name, value in conversation.settings.items():
        if unchanged and name in unchanged and unchanged[name] == value:
            continue
        field = table.fields.get(name)
        if field is not None and type(value) is not tuple:
            body[field] = value  # type: ignore[assignment]
            continue
        spec = table.writers.get(name)
        if spec is None:
            _report_missing_setting(name, value, context)
            continue
        context.setting_name = name
        loss_count = len(losses)
        written = spec.write(value, context)  # type: ignore[misc]
        if written is UNSET:
            if len(losses) == loss_count:  # otherwise the writer has reported the reason
                _report_missing_setting(name, value, context)
        elif spec.inner:
            body[spec.field] = put(body.get(spec.field), spec.inner, written)
        else:
            body[spec.field] = written
    if not same_wire:
        for unknown_path in source.unknown_fields:
            context.report_unknown_field(unknown_path, get(source.body, unknown_path))
    return body


def _report_missing_setting(name: str, value: Setting, context: EncodeContext) -> None:
    path = context.setting_paths.get(name) or (name,)
    report = context.report_loss if setting_matters(name, value) else context.report_info
    report(path, f"this wire has no such setting: {name}")


def extra_setting(name: str, *path: str) -> SettingSpec:
    """Return a setting that only some servers of a wire accept: see
    `EncodeContext.extra_settings`."""

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        return _write_unchanged(value, context) if context.extra_settings else UNSET

    return SettingSpec(name, path or (name,), write=write)


EXTRA_SETTINGS = tuple(
    map(
        extra_setting,
        ("store", "metadata", "service_tier", "prompt_cache_key", "safety_identifier"),
    )
)
"""Extra settings that have the same field on all wires that have them."""


def plain_settings(*path: str, **fields: str) -> tuple[SettingSpec, ...]:
    """Return settings that are written unchanged into an object, by neutral name: their fields."""
    return tuple(SettingSpec(name, (*path, field)) for name, field in fields.items())


def same_name(*names: str) -> tuple[SettingSpec, ...]:
    """Return settings whose top-level fields have their neutral names."""
    return tuple(SettingSpec(name, (name,)) for name in names)


def read_texts(value: JSON) -> Setting | UnsetType:
    """Read a list of texts, such as stop sequences."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return UNSET
    return tuple(map(str, value))


def read_text_or_texts(value: JSON) -> Setting | UnsetType:
    """Read a list of texts, or one text without its list."""
    return read_texts([value] if isinstance(value, str) else value)


_LONGEST_USER = 64
"""The maximum length of a user id on wires that limit it:
https://github.com/maximhq/bifrost/pull/1000."""


def write_user(value: Setting, context: EncodeContext) -> JSON | UnsetType:
    """Write the user id on a wire that limits its length; a longer id is reported."""
    if isinstance(value, str) and len(value) <= _LONGEST_USER:
        return value
    context.report_loss(
        context.setting_path, f"the user id is not a string of at most {_LONGEST_USER} characters"
    )
    return UNSET


def reasoning_budget(field: str, least: int) -> tuple[ReadSetting, WriteSetting]:
    """Return the reader and the writer of a reasoning budget whose `type` switches it on and off.

    A budget below `least` cannot be written.
    """

    def read(value: JSON) -> Setting | UnsetType:
        options = value if isinstance(value, dict) else {}
        budget = options.get(field)
        if options.get("type") == "enabled" and isinstance(budget, int):
            return budget
        return 0 if options.get("type") == "disabled" else UNSET

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        if value == 0:
            return {"type": "disabled"}
        if isinstance(value, int) and value >= least:
            return {"type": "enabled", field: value}
        return UNSET

    return read, write


def put_tools(body: Object, tools: list[JSON]) -> None:
    """Put tool definitions into a body. An empty list, which most servers reject, is left out."""
    if tools:
        body["tools"] = tools
    else:
        body.pop("tools", None)


def write_finish_reason(
    message: Message,
    to_wire: Mapping[str, str],
    from_wire: Mapping[str, str],
    context: EncodeContext,
) -> str | None:
    """Return the finish reason of a message as the wire writes it.

    `to_wire` maps neutral reasons to those of the wire, and `from_wire` the reverse. A reason that
    the wire lacks is reported, and written as `to_wire` has it, or else like `stop`.
    """
    if message.stop is None:
        return None
    word = to_wire.get(message.stop)
    if word is None or from_wire.get(word) != message.stop:
        context.report_loss(
            message.path, f"this wire has no value for the stop reason `{message.stop}`"
        )
    return word or to_wire["stop"]
