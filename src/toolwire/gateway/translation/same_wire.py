"""Requests and responses that stay on one wire: bytes pass unchanged where possible."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from toolwire.codec import decode_in_full
from toolwire.conversation.json import Object, ParsedBytes, dump, load, parse, put
from toolwire.conversation.model import Conversation
from toolwire.conversation.observations import Observations
from toolwire.errors import DecodeError
from toolwire.gateway.translation.call_ids import StrippedRequest
from toolwire.gateway.translation.upstream_request import UpstreamRequest, replaces_functions
from toolwire.lint.repair_loop import repair_on_own_wire
from toolwire.profiles.table import Profile

_MODEL_FIELD = re.compile(rb'("model"\s*:\s*)"(?:[^"\\]|\\.)*"')


class _RoutingFields(Struct):
    model: str | None = None
    stream: bool | None = None


_decode_routing_fields = Decoder(_RoutingFields).decode


def read_routing_fields(raw: bytes, wire: str) -> Object:
    """The fields of a request that decide where it goes, `model` and `stream`.

    Raises:
        DecodeError: the request is not a JSON object.
    """
    try:
        fields = _decode_routing_fields(raw)
        return {"model": fields.model, "stream": fields.stream}
    except (ValueError, RecursionError):
        value, _ = load(raw, wire)  # it reports the reason, and accepts unusual spellings and types
    if not isinstance(value, dict):
        raise DecodeError("a request is a JSON object", wire=wire)
    return value


def parse_request(raw: bytes, wire: str) -> tuple[bytes, Object]:
    """A request that carries its value, and the value.

    Raises:
        DecodeError: the request is not a JSON object.
    """
    try:
        value = parse(raw)
    except ValueError:  # it starts with a mark of its encoding, or has a lone surrogate
        value, _ = load(raw, wire)
    else:
        parsed = ParsedBytes(raw)
        parsed.value = value
        raw = parsed
    if not isinstance(value, dict):
        raise DecodeError("a request is a JSON object", wire=wire)
    return raw, value


def forward_unchanged(
    request: StrippedRequest,
    conversation: Conversation,
    observations: Observations,
    profile: Profile,
    *,
    model: str,
    model_decides_repair: bool,
) -> UpstreamRequest:
    """A request to a model of the client's own wire: the bytes of the client if possible, under the
    name that the provider has for the model.

    Args:
        request: the request of the client.
        conversation: the conversation of the request.
        observations: what one pass over the conversation saw.
        profile: the profile of the provider.
        model: the provider's name of the model.
        model_decides_repair: True if the rules of the profile depend on the name of the model.
    """
    raw, wire = request.raw, conversation.wire
    client_body = conversation.source.body
    assert isinstance(client_body, dict)
    paired_by_order = request.paired_by_order(conversation, observations)
    renames = model_decides_repair and client_body.get("model") != model
    if renames:
        corrections = conversation.source.corrections
        conversation = decode_in_full(put(client_body, ("model",), model), wire)
        source = replace(conversation.source, corrections=corrections)
        conversation = replace(conversation, source=source)
    repaired = repair_on_own_wire(
        conversation,
        profile,
        abandon_pending=True,
        only_changes=True,
        observations=None if renames else observations,
    )
    body = repaired.conversation.source.body
    if renames and not repaired.changes:
        body = client_body
    assert isinstance(body, dict)
    if renames and "model" not in client_body:
        body = {key: value for key, value in body.items() if key != "model"}
    if repaired.changes:
        return UpstreamRequest(
            body={**body, "model": model} if "model" in body else body,
            client_body=client_body,
            ids=repaired.ids,
            passthrough=not repaired.ids.names and not replaces_functions(client_body, body),
            changes=tuple(repaired.changes),
            losses=request.losses,
            paired_by_order=paired_by_order,
        )
    data: bytes | None = raw
    renamed = body
    if "model" in body and body["model"] != model:
        renamed, data = {**body, "model": model}, _replace_model(raw, wire, model)
    if "model" in body and raw.count(b'"model"') != 1:
        data = None  # a repeated field: servers differ in which one they read
    return UpstreamRequest(
        body=renamed,
        raw=data,
        client_body=body,
        passthrough=True,
        losses=request.losses,
        paired_by_order=paired_by_order,
    )


def _replace_model(raw: bytes, wire: str, model: str) -> bytes | None:
    """The request under another model name; None if the bytes do not show where the name is."""
    changed = _MODEL_FIELD.sub(lambda found: found[1] + dump(model), raw, count=1)
    return changed if read_routing_fields(changed, wire).get("model") == model else None


def rename_request(raw: bytes, wire: str, model: str) -> UpstreamRequest:
    """A request that passes as it is, under the provider's name of the model.

    Raises:
        DecodeError: the request is not a JSON object.
    """
    raw, body = parse_request(raw, wire)
    if body.get("model") == model:
        return UpstreamRequest(body=body, raw=raw, client_body=body, passthrough=True)
    data = _replace_model(raw, wire, model) if raw.count(b'"model"') == 1 else None
    return UpstreamRequest(
        body={**body, "model": model}, raw=data, client_body=body, passthrough=True
    )


def rename_model(data: bytes, model: str) -> tuple[bytes, bool]:
    """The bytes of a response with another model name, and True if a name was found."""
    changed, count = _MODEL_FIELD.subn(lambda found: found[1] + dump(model), data, count=1)
    return changed, count > 0
