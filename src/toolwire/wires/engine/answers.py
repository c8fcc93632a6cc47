"""The fields that every response of a wire has, as tables that bodies and streams share.

A table maps a field to the value it gets if the source of the response has none, or to a function
that makes the value. Values that only the source could know are null or zero. The id is minted from
the content, the model and the time come from the request (`RequestInfo`), and some wires repeat
settings of the request. Readers of a response ignore values that were filled in. Knows no wire by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Self, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from toolwire.conversation.ids import MINTED, digest, is_minted
from toolwire.conversation.json import JSON, Object, dump
from toolwire.conversation.model import Setting
from toolwire.conversation.parts import Call, Reasoning, Text
from toolwire.wires.engine.encode_context import EncodeContext, RequestInfo
from toolwire.wires.engine.settings import SettingSpec
from toolwire.wires.engine.stream import copy_json

MakeField: TypeAlias = "Callable[[EncodeContext], JSON]"
ID_PREFIXES = ("msg_", "chatcmpl-", "resp_", "v1_")
"""The prefixes that wires put before the id of a response, the most common first."""
UNKNOWN_MODEL = "unknown"
"""The model of a response if neither its source nor its request names one."""
_DIGEST = 16
_LENGTH = len(MINTED) + _DIGEST
_CONTAINERS = (dict, list)


class AnswerFields(Struct, frozen=True, eq=False):
    """The fields that every response of a wire has."""

    values: Object
    """All fields in order, with their values; null for a value that is made."""
    makers: tuple[tuple[str, MakeField], ...]
    """The functions that make the other values, by field."""

    @classmethod
    def of(cls, fields: Mapping[str, JSON | MakeField]) -> Self:
        """Split a table of fields into values, and functions that make one for each response."""
        values: Object = {}
        makers: list[tuple[str, MakeField]] = []
        for key, value in fields.items():
            values[key] = None
            if callable(value):
                makers.append((key, value))
            elif value.__class__ in _CONTAINERS:
                makers.append((key, _copy_of(value)))
            else:
                values[key] = value
        return cls(values, tuple(makers))


def _copy_of(value: JSON) -> MakeField:
    return lambda context: copy_json(value)


def complete_answer(body: Object, fields: AnswerFields, context: EncodeContext) -> Object:
    """Return a response with all fields of the table; fields that it has keep their values."""
    out = {**fields.values, **body}
    for key, make in fields.makers:
        if key not in body:
            out[key] = make(context)
    return out


# --- ids ------------------------------------------------------------------------------------------


def answer_id(prefix: str) -> MakeField:
    """Return a function that makes the id of a response whose source has none."""

    def make(context: EncodeContext) -> JSON:
        if not context.answer_id:
            context.answer_id = MINTED + digest(*_distinguish(context))
        return prefix + context.answer_id

    return make


def _distinguish(context: EncodeContext) -> Iterator[str | int]:
    """Yield values that distinguish a response from others: the id of its request, or else the
    time, the request and the content."""
    request = context.request
    yield request.id
    if request.id:
        return
    yield request.created
    if request.body:
        yield dump(request.body).decode("utf-8", "replace")
    if context.opening:
        yield context.opening
    for message in context.messages:
        for part in message.parts:
            if isinstance(part, Call):
                yield from (part.id, part.name, part.args.text)
            elif isinstance(part, Text | Reasoning):
                yield part.text


def is_minted_answer(text: str) -> bool:
    """Return True if the id of a response was minted; a prefix may precede it."""
    return text[-_LENGTH:-_DIGEST] == MINTED and is_minted(text[-_LENGTH:])


def seed_from(response_id: object) -> str:
    """Return the seed for the call ids of a response: its id, or empty text if that is absent or
    minted."""
    if not isinstance(response_id, str):
        return ""
    return "" if MINTED in response_id and is_minted_answer(response_id) else response_id


def id_setting(field: str = "id", prefix: str = "") -> SettingSpec:
    """Return the setting `id` of responses.

    The prefix of another wire is replaced by the prefix of this one; a translation back restores
    it. A minted id is not read.
    """

    def read(value: JSON) -> Setting | UnsetType:
        if isinstance(value, str) and MINTED in value and is_minted_answer(value):
            return None
        return None if value == "" else value

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        if not isinstance(value, str):
            return UNSET
        if value.startswith(prefix):
            return value
        for other in ID_PREFIXES:
            if value.startswith(other):
                return prefix + value[len(other) :]
        return prefix + value

    return SettingSpec("id", (field,), read=read, write=write)


# --- model and time -------------------------------------------------------------------------------


def answer_name(request: RequestInfo) -> JSON:
    """Return the model name for a response whose source has none: the model that was requested."""
    return request.body.get("model") or UNKNOWN_MODEL


def answer_model(context: EncodeContext) -> JSON:
    """Make the model name."""
    return answer_name(context.request)


def model_setting(field: str = "model") -> SettingSpec:
    """Return the setting `model` of responses; an empty name counts as absent."""
    return SettingSpec("model", (field,), read=lambda value: value or None)


def answer_time(context: EncodeContext) -> JSON:
    """Make the time of a response in seconds."""
    return context.request.created


def answer_time_text(context: EncodeContext) -> JSON:
    """Make the time of a response as text."""
    return time_text(context.request.created)


def time_text(seconds: int) -> str:
    """Return a time in the format of RFC 3339.

    Raises:
        ValueError, OverflowError, OSError: The time is out of range.
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def elapsed_nanoseconds(context: EncodeContext) -> JSON:
    """Make the time since the request arrived, in nanoseconds."""
    return int(context.request.elapsed() * 1e9)


def elapsed_milliseconds(context: EncodeContext) -> JSON:
    """Make the time since the request arrived, in milliseconds."""
    return int(context.request.elapsed() * 1e3)


def time_setting(field: str) -> SettingSpec:
    """Return the setting `created` of responses; zero counts as absent."""
    return SettingSpec("created", (field,), read=lambda value: value or None)


def time_text_setting(field: str) -> SettingSpec:
    """Return the setting `created` of responses on wires that write a time as text."""

    def read(value: JSON) -> Setting | UnsetType:
        if not isinstance(value, str):
            return UNSET
        try:
            time = datetime.fromisoformat(value)
            return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()) or None
        except OverflowError:
            return UNSET

    def write(value: Setting, context: EncodeContext) -> JSON | UnsetType:
        try:
            return time_text(int(str(value)))
        except (ValueError, OverflowError, OSError):
            return UNSET

    return SettingSpec("created", (field,), read=read, write=write)


# --- fields of the request that responses repeat --------------------------------------------------


def repeat(field: str, default: JSON) -> MakeField:
    """Return a function that repeats a field of the request, or returns the default if it is
    absent. An object also gets the fields of the default that it lacks."""

    def make(context: EncodeContext) -> JSON:
        value = context.request.body.get(field)
        if value is None:
            return copy_json(default) if default.__class__ in _CONTAINERS else default
        if isinstance(value, dict) and isinstance(default, dict):
            return {**default, **value}
        return value

    return make
