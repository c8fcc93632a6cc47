"""The id, the model and the time of a response that stays on its wire, if its server gives none.

Clients take messages of one id for one message, so an empty id is as bad as a repeated one. A
response that has all three passes byte for byte.
"""

from __future__ import annotations

from toolwire.conversation.ids import MINTED, digest
from toolwire.conversation.json import JSON, JsonPath, Object, dump, get, parse, put
from toolwire.gateway.client_apis.api import ClientApi
from toolwire.gateway.translation.upstream_request import UpstreamRequest
from toolwire.wires.engine.answers import answer_name, time_text

_DATA = b"data:"


class IdentityFiller:
    """Fills in the identity of one response, whole or streamed."""

    __slots__ = ("_fields", "_identity", "_lacks_identity", "_request", "settled")

    def __init__(self, api: ClientApi, request: UpstreamRequest) -> None:
        self._identity = api.identity
        self._request = request
        self._fields: dict[str, JSON] | None = None
        self._lacks_identity = False
        self.settled = api.identity is None
        """True if nothing is left to fill in."""

    def fill(self, body: Object) -> Object:
        """A response, or an event of one, with its identity; the same object if it has it."""
        identity = self._identity
        path = None if identity is None or self.settled else identity.find(body)
        response = None if path is None else get(body, path)
        if identity is None or path is None or not isinstance(response, dict):
            return body
        if not self._lacks_identity and response.get(identity.content) == []:
            return body
        missing = [name for name in identity.names if not response.get(name)]
        if not missing:
            self.settled = not self._lacks_identity
            return body
        self._lacks_identity = True
        values = self._identify()
        filled = _put_fields(body, path, {**response, **{name: values[name] for name in missing}})
        assert isinstance(filled, dict)
        return filled

    def fill_bytes(self, data: bytes, parsed: JSON) -> bytes:
        """A whole response as bytes; unchanged if what was parsed from them has its identity."""
        if not isinstance(parsed, dict) or self.fill(parsed) is parsed:
            return data
        body = parse(data)
        return dump(self.fill(body)) if isinstance(body, dict) else data

    def fill_lines(self, data: bytes) -> bytes:
        """Complete lines of a stream; only those of a response without its identity change."""
        lines = data.splitlines(keepends=True)
        return b"".join([line if self.settled else self._fill_line(line) for line in lines])

    def _fill_line(self, line: bytes) -> bytes:
        content = line.rstrip(b"\r\n")
        field = _DATA if content.startswith(_DATA) else b""
        payload = content[len(field) :].lstrip()
        if not payload.startswith(b"{"):
            return line
        try:
            body = parse(payload)
        except ValueError:
            return line
        filled = self.fill(body) if isinstance(body, dict) else body
        if filled is body:
            return line
        return field + (b" " if field else b"") + dump(filled) + line[len(content) :]

    def _identify(self) -> dict[str, JSON]:
        """The fields of the identity, the same for the whole response."""
        if self._fields is None:
            identity, info = self._identity, self._request.response_info()
            assert identity is not None
            time: JSON = time_text(info.created) if identity.time_is_text else info.created
            self._fields = {
                identity.id: identity.id_prefix + MINTED + digest(info.id),
                identity.model: answer_name(info),
                identity.time: time,
            }
        return self._fields


def _put_fields(body: Object, path: JsonPath, response: Object) -> JSON:
    return put(body, path, response) if path else response
