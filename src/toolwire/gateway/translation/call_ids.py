"""Ids for calls of a model that sends none: minted for the client, removed on the way back.

Clients answer parallel calls in the order in which their tools finish. Without ids, only the order
connects results to calls, and clients do not keep it.
"""

from __future__ import annotations

from msgspec import Struct, UnsetType

from toolwire.codec import decode
from toolwire.conversation.ids import MINTED, is_minted, mint
from toolwire.conversation.json import JSON, JsonPath, Object, dump, get, parse_body, put
from toolwire.conversation.minted_ids import needs_minted_ids
from toolwire.conversation.model import Conversation, Loss
from toolwire.conversation.observations import Observation, Observations
from toolwire.conversation.pairing import pairs_by_order
from toolwire.conversation.parts import Call, Pair, Result
from toolwire.gateway.client_apis.api import ClientApi
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.wires.engine.stream import copy_json

_MINTED = b'"' + MINTED.encode()
_DATA = b"data:"
_ID = "id"
"""The field of a call, and of a result, that holds the id."""


class CallIds:
    """Mints the ids of one response."""

    __slots__ = ("_api", "_count", "_request", "_seed")

    def __init__(self, api: ClientApi, request: UpstreamRequest) -> None:
        self._api = api
        self._request = request
        self._seed = ""
        self._count = 0
        """The calls so far."""

    def add(self, body: Object) -> Object:
        """A response, or a chunk of one, with an id on every call."""
        identified: JSON = body
        for path in self._api.call_paths(body):
            call = get(body, path)
            if not isinstance(call, dict):
                continue
            name = call.get("name")
            if isinstance(name, str) and name and not call.get(_ID):
                identified = put(identified, (*path, _ID), self._mint(name))
            self._count += 1
        assert isinstance(identified, dict)
        return identified

    def add_to_bytes(self, data: bytes) -> bytes:
        """A whole response as bytes, unchanged if no call lacks an id."""
        if not self._may_call(data):
            return data
        try:
            body = parse_body(data)
        except ValueError:
            return data
        identified = self.add(body) if isinstance(body, dict) else body
        return data if identified is body else dump(identified)

    def add_to_lines(self, data: bytes) -> bytes:
        """Complete lines of a stream; only those with a call that lacks an id change."""
        if not self._may_call(data):
            return data
        return b"".join(map(self._add_to_line, data.splitlines(keepends=True)))

    def _add_to_line(self, line: bytes) -> bytes:
        content = line.rstrip(b"\r\n")
        field = _DATA if content.startswith(_DATA) else b""
        payload = content[len(field) :]
        identified = self.add_to_bytes(payload)
        if identified is payload:
            return line
        return field + (b" " if field else b"") + identified + line[len(content) :]

    def _may_call(self, data: bytes) -> bool:
        return any(mark in data for mark in self._api.call_marks)

    def _mint(self, name: str) -> str:
        self._seed = self._seed or self._request.digest()
        return mint(self._seed, self._count, name)


class StrippedRequest(Struct, frozen=True, gc=False):
    """A request of a client without the ids that were minted for it."""

    raw: bytes
    removed_from: frozenset[JsonPath] = frozenset()
    """The paths of the calls and results that had a minted id."""
    losses: tuple[Loss, ...] = ()
    """Fields that were left out because the provider refuses them."""

    def paired_by_order(
        self, conversation: Conversation, observations: Observations | None = None
    ) -> tuple[Pair, ...]:
        """The pairs of this request, as it was read, that only the position of the result
        determines. A result that had an id is not among them."""
        if observations is not None and observations.flags & Observation.WIRE_IDS:
            return ()
        found = pairs_by_order(conversation.messages, ordered=conversation.ordered)
        if not found:
            return ()
        return tuple(
            [pair for pair in found if pair.result and pair.result.path not in self.removed_from]
        )


def remove_minted_ids(raw: bytes, wire: str) -> StrippedRequest:
    """A request without the ids that were minted for the client, as the model would have it.

    Results without ids follow the order of their calls. The bytes stay as they are if that order
    would not pair what the ids pair.

    Raises:
        DecodeError: the body is not one of this wire.
    """
    if _MINTED not in raw:
        return StrippedRequest(raw)
    conversation = decode(raw, wire)
    parts = [part for part in conversation.parts() if isinstance(part, Call | Result)]
    paths = [part.path for part in parts if is_minted(_id_of(part))]
    if not paths or needs_minted_ids(conversation.messages, ordered=conversation.ordered):
        return StrippedRequest(raw)
    original = conversation.source.body
    moves = _in_order_of_calls(conversation)
    body = copy_json(original)
    for path in paths:
        block = _without_id(get(original, moves.get(path, path)))
        parent = get(body, path[:-1])
        if isinstance(parent, list):
            parent[int(path[-1])] = block
    return StrippedRequest(dump(body), frozenset(paths))


def _id_of(part: Call | Result) -> str:
    return part.id if isinstance(part, Call) else part.call_id


def _in_order_of_calls(conversation: Conversation) -> dict[JsonPath, JsonPath]:
    """For each path of a result with a minted id: the path of the result that belongs there, if it
    is another one."""
    moves: dict[JsonPath, JsonPath] = {}
    positions: dict[str, int] = {}
    results: list[Result] = []
    for message in conversation.messages:
        if message.role == "assistant" and results:
            moves |= _sort_results(results, positions)
            positions, results = {}, []
        for part in message.parts:
            if isinstance(part, Call):
                positions[part.id] = len(positions)
            elif isinstance(part, Result) and is_minted(part.call_id):
                results.append(part)
    return moves | _sort_results(results, positions)


def _sort_results(results: list[Result], positions: dict[str, int]) -> dict[JsonPath, JsonPath]:
    last = len(positions)
    ordered = sorted(results, key=lambda result: positions.get(result.call_id, last))
    return {
        old.path: new.path
        for old, new in zip(results, ordered, strict=True)
        if old.path != new.path
    }


def _without_id(block: JSON | UnsetType) -> JSON:
    """A block whose call or result has no minted id."""
    if not isinstance(block, dict):
        return None
    return {
        name: {
            key: value for key, value in field.items() if key != _ID or not is_minted(str(value))
        }
        if isinstance(field, dict)
        else field
        for name, field in block.items()
    }
