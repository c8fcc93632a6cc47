"""Bodies in a shorter form: a bare list of messages, or one element instead of a list.

Inside the library a body is always full. What a caller gets back has the form that was given, and
its paths lead into that form.
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import UnsetType
from msgspec.structs import replace

from toolwire.codec.encoded import Encoded
from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import BodySource, Change, Finding, Kind, Loss
from toolwire.wires.engine.specs import Wire

Report = TypeVar("Report", Change, Finding, Loss)


def full_body(given: JSON, wire: Wire, kind: Kind) -> JSON:
    """The full body of a wire that a value stands for; the value itself if it is one."""
    if kind == "request" and wire.messages_field and isinstance(given, list):
        given = {wire.messages_field: given}
    return given if wire.normalize is None else wire.normalize(given)


def note_shape(source: BodySource, given: JSON, wire: Wire) -> BodySource:
    """The source of a conversation, with the form in which its body was given."""
    if given is source.body:
        return source
    list_field = wire.messages_field if isinstance(given, list) else ""
    return replace(source, given=given, list_field=list_field)


def present(encoded: Encoded, source: BodySource, *, own_wire: bool) -> Encoded:
    """An encoding for the caller: its paths, and on its own wire its body, are as given."""
    if isinstance(source.given, UnsetType):
        return encoded
    encoded.losses = locate(encoded.losses, source)
    encoded.changes = locate(encoded.changes, source)
    encoded.findings = locate(encoded.findings, source)
    if own_wire:
        encoded.body = body_as_given(encoded.body, source)
    return encoded


def body_as_given(body: JSON, source: BodySource) -> JSON:
    """A full body in the form in which the body before it was given.

    A list that was given tools or settings stays a full body: a list cannot hold them.
    """
    if body is source.body and not isinstance(source.given, UnsetType):
        return source.given
    if source.list_field and isinstance(body, dict) and len(body) == 1:
        return body[source.list_field]
    return body


def locate(reports: list[Report], source: BodySource) -> list[Report]:
    """The reports, with paths into what the caller gave."""
    field = source.list_field
    if not field:
        return reports
    return [replace(report, path=_inside(report.path, field)) for report in reports]


def path_as_given(path: JsonPath, given: JSON, wire: Wire) -> JsonPath:
    """A path in the full body as a path into what the caller gave."""
    return _inside(path, wire.messages_field) if isinstance(given, list) else path


def _inside(path: JsonPath, field: str) -> JsonPath:
    return path[1:] if path[:1] == (field,) else path
