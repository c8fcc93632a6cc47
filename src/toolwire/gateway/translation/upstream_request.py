"""A request as the model gets it, with what is needed to translate the response back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.ids import digest
from toolwire.conversation.json import Object, dump
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import REASONING_LOST, SIGNATURE_LOST, Change, Loss, Setting
from toolwire.conversation.parts import Call, Pair, Part
from toolwire.errors import pointer
from toolwire.wires.engine.encode_context import RequestInfo

_CARRIED_BY_TOKEN = frozenset({SIGNATURE_LOST, REASONING_LOST})
"""Losses that a continuation token compensates."""
_STREAM_FIELDS = ("stream", "stream_options")


def replaces_functions(client_body: Object, body: Object) -> bool:
    """True if the model gets the client's `functions` as `tools` on the same wire: the client still
    expects a response in the form before `tools`."""
    return "functions" in client_body and "functions" not in body


class UpstreamRequest(Struct, eq=False, gc=False, kw_only=True):
    """A request as the model gets it, and what was changed on the way."""

    body: Object
    raw: bytes | None = None
    """The bytes to send, if they are the client's own."""
    client_body: Object = {}
    """The request as the client sent it."""
    ids: IdMap = NO_MAP
    passthrough: bool = False
    """True if client and model speak one wire and the response needs no translation."""
    changes: tuple[Change, ...] = ()
    losses: tuple[Loss, ...] = ()
    paired_by_order: tuple[Pair, ...] = ()
    """The client's results that only their position assigns to a call."""
    restored_turns: int = 0
    """The turns that were restored from continuation tokens."""
    custom_tools: frozenset[str] = frozenset()
    """The client's tools that take a free text instead of JSON arguments."""
    describe: Callable[[Object], RequestInfo] | None = None
    """Returns, for the body of the client, the fields of the response that describe the request, if
    the provider sends none. Set once the request is translated; the other fields never change."""

    def describe_pairs_by_order(self) -> tuple[str, ...]:
        """The place of each result that only its position assigns to a call, and of the call."""
        return tuple(
            [
                f"{pointer(pair.result.path)} for {pointer(pair.call.path)}"
                for pair in self.paired_by_order
                if pair.call is not None and pair.result is not None
            ]
        )

    def response_info(self) -> RequestInfo:
        """The fields of the response that describe the request. Without `describe`, they are the
        same for the same request."""
        if self.describe is not None:
            return self.describe(self.client_body)
        return RequestInfo(self.client_body, id=self.digest())

    def digest(self) -> str:
        """A text that is the same for the same request."""
        return digest(dump(self.body).decode())

    def complete_data(self) -> bytes | None:
        """The bytes to send, if the body is one of the client's own wire, which already asks for a
        stream, or for none; None if the provider's fields for that have to be added."""
        if self.raw is not None:
            return self.raw
        if not self.passthrough:
            return None
        fields = {key: self.client_body[key] for key in _STREAM_FIELDS if key in self.client_body}
        return dump({**self.body, **fields})


def name_model(settings: dict[str, Setting], request: UpstreamRequest) -> dict[str, Setting]:
    """The settings of a response with the model name that the client asked for.

    Some clients return signed reasoning only with a response of the model that they asked for.
    """
    model = request.client_body.get("model")
    return {**settings, "model": model} if isinstance(model, str) else settings


def restore_custom_call(part: Part, request: UpstreamRequest) -> Part:
    """A call of a custom tool as the client defined the tool: with a free text.

    The model saw a function with one field, `input`. A call with other arguments has no such text
    and stays a call of a function.
    """
    if not isinstance(part, Call) or part.family != "function":
        return part
    if request.ids.names.get(part.name, part.name) not in request.custom_tools:
        return part
    arguments = part.input
    text = arguments.get("input") if isinstance(arguments, dict) and len(arguments) == 1 else None
    if not isinstance(text, str):
        return part
    return replace(part, args=LazyJson(text), family="custom")


def losses_without_token(losses: Sequence[Loss]) -> tuple[Loss, ...]:
    """The losses that no continuation token compensates."""
    return tuple(loss for loss in losses if loss.reason not in _CARRIED_BY_TOKEN)
