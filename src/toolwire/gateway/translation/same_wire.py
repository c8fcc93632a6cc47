"""Requests and responses that stay on one wire: bytes pass unchanged where possible."""

from __future__ import annotations

import re

from msgspec import Raw, Struct
from msgspec.json import Decoder

from toolwire.conversation.json import Object, dump, load, parse, put
from toolwire.errors import DecodeError
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.lint import repair

_MODEL_FIELD = re.compile(rb'("model"\s*:\s*)"(?:[^"\\]|\\.)*"')


class _RoutingFields(Struct):
    model: Raw = Raw(b"null")
    stream: Raw = Raw(b"null")


_decode_routing_fields = Decoder(_RoutingFields).decode


def read_routing_fields(raw: bytes, wire: str) -> Object:
    """The fields of a request that decide where it goes, `model` and `stream`.

    Raises:
        DecodeError: the request is not a JSON object.
    """
    try:
        fields = _decode_routing_fields(raw)
        return {"model": parse(bytes(fields.model)), "stream": parse(bytes(fields.stream))}
    except (ValueError, RecursionError):
        value, _ = load(raw, wire)  # it reports the reason, and accepts unusual spellings
    if not isinstance(value, dict):
        raise DecodeError("a request is a JSON object", wire=wire)
    return value


def forward_unchanged(
    raw: bytes, wire: str, target: str, *, model: str, model_decides_repair: bool
) -> UpstreamRequest:
    """A request to a model of the client's own wire: the bytes of the client if possible, under the
    name that the provider has for the model.

    Args:
        raw: the body of the client.
        wire: the wire of both sides.
        target: the profile of the provider.
        model: the provider's name of the model.
        model_decides_repair: True if the rules of the profile depend on the name of the model.
    """
    repaired = repair(raw, wire, target=target)
    body = client_body = repaired.body
    assert isinstance(body, dict) and isinstance(client_body, dict)
    if model_decides_repair and body.get("model") != model:
        original, _ = load(raw, wire)
        assert isinstance(original, dict)
        client_body = original
        again = repair(put(original, ("model",), model), wire, target=target)
        if again.changes and isinstance(again.body, dict):
            repaired, body = again, again.body
            if "model" not in original:
                body = {key: value for key, value in body.items() if key != "model"}
    if repaired.changes:
        return UpstreamRequest(
            body={**body, "model": model} if "model" in body else body,
            client_body=client_body,
            ids=repaired.ids,
            passthrough=not repaired.ids.names,
            changes=tuple(repaired.changes),
        )
    if "model" not in body:
        return UpstreamRequest(body=body, raw=raw, client_body=body, passthrough=True)
    renamed = body if body["model"] == model else {**body, "model": model}
    data = raw if renamed is body else _replace_model(raw, wire, model)
    if raw.count(b'"model"') != 1:
        data = None  # a repeated field: servers differ in which one they read
    return UpstreamRequest(body=renamed, raw=data, client_body=body, passthrough=True)


def _replace_model(raw: bytes, wire: str, model: str) -> bytes | None:
    """The request under another model name; None if the bytes do not show where the name is."""
    changed = _MODEL_FIELD.sub(lambda found: found[1] + dump(model), raw, count=1)
    return changed if read_routing_fields(changed, wire).get("model") == model else None


def rename_model(data: bytes, model: str) -> tuple[bytes, bool]:
    """Bytes of a response under another model name; and whether there was a name."""
    changed, count = _MODEL_FIELD.subn(lambda found: found[1] + dump(model), data, count=1)
    return changed, count > 0
