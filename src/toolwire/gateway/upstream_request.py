"""A request as a model gets it, and how its answer becomes one for the client: under its names, as
its tools take it.

Opens no connection; knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.id_map import NO_MAP, IdMap
from toolwire.conversation.ids import digest
from toolwire.conversation.json import Object, dump
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Change, Loss, Setting
from toolwire.conversation.parts import Call, Part

_CARRIED = "that only its own provider can read"
"""How a loss is told that a parcel makes good."""
_ASKS = ("stream", "stream_options")
"""Fields of a body that say how it is to be answered."""


class UpstreamRequest(Struct, frozen=True, eq=False):
    """A request as the model gets it, and what was done to it."""

    body: Object
    raw: bytes | None = None
    """The bytes to send, if they are the client's own."""
    ids: IdMap = NO_MAP
    same: bool = False
    """Whether client and model speak one wire, so that the answer passes untouched."""
    changes: tuple[Change, ...] = ()
    losses: tuple[Loss, ...] = ()
    parcels: int = 0
    """How many turns were put back as their model had said them."""
    asked: Object = {}
    """The request as it came."""
    customs: frozenset[str] = frozenset()
    """The client's tools that take a free text."""

    def data(self, dress: Callable[[Object], Object]) -> bytes:
        """The bytes to send; `dress` adds what a server wants to be asked for a stream, unless the
        client asked it itself."""
        if self.raw is not None:
            return self.raw
        if self.same:
            return dump(
                {**self.body, **{key: self.asked[key] for key in _ASKS if key in self.asked}}
            )
        return dump(dress(self.body))


def called(settings: dict[str, Setting], sent: UpstreamRequest) -> dict[str, Setting]:
    """What an answer says of itself, with the model under the name that the client knows, and an id
    if its server gave none.

    Claude Code 2.1 sends signed thoughts back only with an answer of the model that it asked for,
    and makes one message of all answers with the same id.
    """
    name = sent.asked.get("model")
    told = {**settings, "model": name} if isinstance(name, str) else settings
    return (
        told
        if told.get("id")
        else {**told, "id": f"msg_{digest(sent.data(lambda body: body).decode())}"}
    )


def customised(part: Part, sent: UpstreamRequest) -> Part:
    """A call as its tool takes it: with the text alone, if it is offered as a function with one."""
    if (
        not isinstance(part, Call)
        or part.family != "function"
        or sent.ids.names.get(part.name, part.name) not in sent.customs
    ):
        return part
    given = part.input
    text = given.get("input") if isinstance(given, dict) and len(given) == 1 else None
    return replace(part, args=LazyJson(text), family="custom") if isinstance(text, str) else part


def unsealed(losses: Sequence[Loss]) -> tuple[Loss, ...]:
    """Losses without those that a parcel makes good."""
    return tuple(loss for loss in losses if not loss.reason.endswith(_CARRIED))
