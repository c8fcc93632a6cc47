"""What a gateway says beside the answer itself: refusals, and header fields that tell what was
done. Knows no wire by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwire.conversation.model import Loss
from toolwire.gateway.translator import UpstreamRequest

LONGEST = 900
"""Characters of a header field that tells what was done."""


class RequestRejected(Exception):
    """A request that gets no answer, and why."""

    def __init__(
        self,
        message: str,
        status: int = 400,
        *,
        headers: Mapping[str, str] | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.headers = dict(headers or {})
        self.code = code


class UpstreamFailed(Exception):
    """An upstream that gave no answer; another one may be tried if `again`."""

    def __init__(
        self,
        message: str,
        status: int,
        *,
        again: bool,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.again = again
        self.headers = dict(headers or {})
        self.raw = raw
        """The answer itself, if the client speaks the same wire."""


def pairs(fields: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Header fields as a server sends them."""
    return [
        (name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in fields.items()
    ]


def header(text: str) -> str:
    """A text as it can stand in a header field: plain and not too long."""
    plain = "".join([one if " " <= one <= "~" else "?" for one in text[: LONGEST + 1]])
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 3]}..."


def done(sent: UpstreamRequest, losses: Sequence[Loss] = ()) -> dict[str, str]:
    """What was done to a request, and lost of its answer, as header fields."""
    out: dict[str, str] = {}
    if sent.changes:
        names = dict.fromkeys(change.name for change in sent.changes)
        out["x-toolwire-repairs"] = header(f"{len(sent.changes)}: {', '.join(names)}")
    if sent.losses or losses:
        out["x-toolwire-losses"] = header(_lost([*sent.losses, *losses]))
    if sent.parcels:
        out["x-toolwire-restored"] = str(sent.parcels)
    return out


def _lost(losses: Sequence[Loss]) -> str:
    """How many losses, and each kind of them once: by its reason and the last word of its place."""
    kinds: dict[tuple[str, str], list[Loss]] = {}
    for loss in losses:
        kinds.setdefault(
            (loss.reason, loss.pointer.rpartition("/")[2].strip("0123456789")), []
        ).append(loss)
    told = [
        f"{some[0]}{f' ({len(some)} times)' if len(some) > 1 else ''}" for some in kinds.values()
    ]
    return f"{len(losses)}: {'; '.join(told)}"
