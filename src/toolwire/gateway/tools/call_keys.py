"""The ids under which the gateway records its tool calls.

An id is derived from the client's request and the call, so a repeated request gets the recorded
results and runs no tool again, whichever model or replica serves it.
"""

from __future__ import annotations

import hashlib
from collections import Counter

from toolwire.conversation.json import JSON, Object, dump

_IGNORED_FIELDS = frozenset(
    {
        "model",
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
    }
)
"""Fields that may differ when a request is repeated."""


class CallKeys:
    """The call ids of one request."""

    def __init__(self, wire: str, client: str, idempotency_key: str, body: JSON) -> None:
        """Prepare the ids.

        Args:
            wire: the wire of the client.
            client: the owner of the virtual key.
            idempotency_key: the header of the client, which distinguishes equal requests.
            body: the request.
        """
        fields: Object = body if isinstance(body, dict) else {}
        kept: Object = {key: value for key, value in fields.items() if key not in _IGNORED_FIELDS}
        parts = (wire.encode(), client.encode(), idempotency_key.encode(), dump(_sort_keys(kept)))
        self._base = hashlib.sha256(b"\x00".join(parts))
        self._counts: Counter[bytes] = Counter()

    def next(self, tool: str, arguments: JSON) -> str:
        """The id of a call; equal calls of one request get different ids."""
        call = dump([tool, _sort_keys(arguments)])
        number = self._counts[call]
        self._counts[call] += 1
        key = self._base.copy()
        key.update(b"\x00%d\x00" % number + call)
        return f"gw-{key.hexdigest()[:40]}"


def _sort_keys(value: JSON) -> JSON:
    """The same value for every order of keys."""
    if isinstance(value, dict):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(item) for item in value] if isinstance(value, list) else value
