"""uvicorn's WebSocket protocol, which also answers a handshake that is not one.

uvicorn leaves such a connection open without an answer, and fails on it when the server stops: the
requests in progress would be lost.
"""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 45\r\n"
    b'connection: close\r\n\r\n{"message":"This is not a WebSocket request"}'
)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """Refuses an upgrade that cannot be read as a handshake, such as a POST request."""

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.close_sent:
            self.close_sent = True
            self.transport.write(_REFUSAL)
            self.transport.close()
