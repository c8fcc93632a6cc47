"""Stage 2: the body of the request, and the models that may answer it."""

from __future__ import annotations

from toolwire.conversation.json import Object
from toolwire.errors import DecodeError, ToolwireError
from toolwire.gateway.client_apis.api import OF_STORED_RESPONSES
from toolwire.gateway.config.model_table import MAX_MODEL_NAME, ModelTarget, is_unicode
from toolwire.gateway.errors import RequestRejected
from toolwire.gateway.request import GatewayRequest
from toolwire.gateway.threads import MIN_BYTES
from toolwire.gateway.translation.same_wire import parse_request, read_routing_fields
from toolwire.server.asgi import BodyError

_MAX_LISTED_MODELS = 20
_WITHOUT_BODY = frozenset(("list_models", "get_version", *OF_STORED_RESPONSES))
_BODY_ERRORS: dict[BodyError, tuple[str, int]] = {
    "large": ("The request body is larger than [server] max_body_mb.", 413),
    "slow": ("The request body arrived too slowly.", 408),
    "busy": ("Too many requests are arriving at once. Try again later.", 503),
}


class ClientDisconnected(ToolwireError):
    """The client closed the connection before its request was complete."""


async def route(request: GatewayRequest) -> None:
    """Read the body and find the models that may answer; set `request.raw` and `request.targets`.

    Raises:
        RequestRejected: 400, 403, 404, 408, 413 or 503.
        ClientDisconnected: the body is not complete.
    """
    if request.operation in _WITHOUT_BODY:
        return
    if request.operation == "get_model":
        request.targets = _find_targets(request, request.route.model)
        return
    body = await request.state.body_reader.read(request.http)
    if body == "gone":
        raise ClientDisconnected
    if not isinstance(body, bytes):
        raise RequestRejected(*_BODY_ERRORS[body])
    request.record.capture_request(body)
    try:
        if len(body) < MIN_BYTES:
            request.raw, fields = parse_request(body, request.api.wire)
        else:  # a thread parses it (stage 3)
            request.raw, fields = body, read_routing_fields(body, request.api.wire)
    except DecodeError as error:
        raise RequestRejected(error.why) from None
    model = request.route.model or fields.get("model")
    request.targets = _find_targets(request, model if isinstance(model, str) else None)
    request.record.stream = _wants_stream(request, fields)


def _wants_stream(request: GatewayRequest, fields: Object) -> bool:
    if request.operation == "generate":
        return request.api.wants_stream(fields)
    return request.operation == "stream"


def _find_targets(request: GatewayRequest, model: str | None) -> list[ModelTarget]:
    name = model.removeprefix("models/") if model is not None else None
    targets = request.models.find(name)
    if not targets:
        raise _reject_model(request, name)
    request.record.model = name or targets[0].name
    if request.key is not None and not request.key.may_use(request.record.model):
        raise RequestRejected(f"This key may not use the model `{request.record.model}`.", 403)
    return targets


def _reject_model(request: GatewayRequest, name: str | None) -> RequestRejected:
    """Why there is no model of a name."""
    if not name and request.models.config.server.default is None:
        return RequestRejected(
            f"The request names no model. {_available(request)}", code="missing_model"
        )
    if name and len(name) > MAX_MODEL_NAME:
        message = f"The name of the model is longer than {MAX_MODEL_NAME} characters."
    elif name and not is_unicode(name):
        message = "The model name contains a lone surrogate."
    else:
        message = f"The model `{name}` does not exist. {_available(request)}"
    return RequestRejected(message, 404, code="model_not_found")


def _available(request: GatewayRequest) -> str:
    """The models that the client may use, as a sentence."""
    names = [
        name
        for name in sorted(request.models.config.models)
        if request.key is None or request.key.may_use(name)
    ]
    listed = ", ".join(names[:_MAX_LISTED_MODELS])
    more = f" and {len(names) - _MAX_LISTED_MODELS} more" if len(names) > _MAX_LISTED_MODELS else ""
    return f"Available models: {listed}{more}." if names else "There are no models."
