"""Errors of requests, and the headers that report changes of the gateway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwire.conversation.model import Loss
from toolwire.errors import ToolwireError
from toolwire.gateway.translation.upstream_request import UpstreamRequest

MAX_HEADER_LENGTH = 900


class RequestRejected(ToolwireError):
    """A request that the gateway does not serve: the status, the reason, and what to do."""

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


class UpstreamFailed(ToolwireError):
    """An upstream gave no usable response. Another one may be tried if `retryable`."""

    def __init__(
        self,
        message: str,
        status: int,
        *,
        retryable: bool = True,
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.retryable = retryable
        self.headers = dict(headers or {})
        self.raw = raw
        """The body of the upstream's error, if the client speaks the same wire."""


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI sends them."""
    return [
        (name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
    ]


def header_value(text: str) -> str:
    """A text as the value of a header: printable ASCII of limited length."""
    start = text[: MAX_HEADER_LENGTH + 1]
    plain = "".join([character if " " <= character <= "~" else "?" for character in start])
    if len(plain) <= MAX_HEADER_LENGTH:
        return plain
    return f"{plain[: MAX_HEADER_LENGTH - 3]}..."


def report_headers(request: UpstreamRequest, losses: Sequence[Loss] = ()) -> dict[str, str]:
    """Headers that report repairs, losses, pairs by order and restored turns."""
    headers: dict[str, str] = {}
    if request.changes:
        rules = dict.fromkeys(change.name for change in request.changes)
        headers["x-toolwire-repairs"] = header_value(f"{len(request.changes)}: {', '.join(rules)}")
    if request.losses or losses:
        summary = _summarize_losses([*request.losses, *losses])
        headers["x-toolwire-losses"] = header_value(summary)
    if request.paired_by_order:
        headers["x-toolwire-paired-by-order"] = header_value(
            f"{len(request.paired_by_order)}: {', '.join(request.describe_pairs_by_order())}"
        )
    if request.restored_turns:
        headers["x-toolwire-restored"] = str(request.restored_turns)
    return headers


def _summarize_losses(losses: Sequence[Loss]) -> str:
    """The number of losses, and each kind once: by its reason and the last step of its path."""
    kinds: dict[tuple[str, str], list[Loss]] = {}
    for loss in losses:
        field = loss.pointer.rpartition("/")[2].strip("0123456789")
        kinds.setdefault((loss.reason, field), []).append(loss)
    texts: list[str] = []
    for same in kinds.values():
        times = f" ({len(same)} times)" if len(same) > 1 else ""
        texts.append(f"{same[0]}{times}")
    return f"{len(losses)}: {'; '.join(texts)}"
