"""How a response is written: its headers together with its body, and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from toolwire.server.limited_protocol import ConnectionLimits
from toolwire.server.response_cycle import SMALL_WRITE, ResponseCycle
from toolwire.server.run import config
from toolwire.tool_server import ToolServer

JSON = (b"content-type", b"application/json")
ABSENT = object()


class FakeTransport(asyncio.Transport):
    """Keeps each write, and refuses to write once it is closed, as uvloop does."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closed:
            raise RuntimeError("the handler is closed")
        self.writes.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def respond(*messages: ASGISendEvent, method: str = "POST") -> FakeTransport:
    """The connection after an application has sent these messages, one in each step of the loop."""
    transport = FakeTransport()
    asyncio.run(_send(transport, messages, method))
    return transport


async def _send(
    transport: FakeTransport, messages: Sequence[ASGISendEvent], method: str = "POST"
) -> None:
    response = cycle(transport, method)
    for message in messages:
        await response.send(message)
        await asyncio.sleep(0)


def cycle(transport: FakeTransport, method: str) -> ResponseCycle:
    connection = connect(transport)
    connection.on_message_begin()
    connection.scope["method"] = method
    return ResponseCycle(connection, keep_alive=True)


def connect(transport: FakeTransport) -> HttpToolsProtocol:
    state = ServerState()
    state.default_headers = [(b"date", b"today")]
    settings = config(ToolServer([]), ConnectionLimits())
    connection = HttpToolsProtocol(config=settings, server_state=state, app_state={})
    connection.connection_made(transport)
    return connection


def start(*headers: tuple[bytes, bytes]) -> ASGISendEvent:
    return {"type": "http.response.start", "status": 200, "headers": headers}


def body(data: bytes, *, more: bool = False) -> ASGISendEvent:
    return {"type": "http.response.body", "body": data, "more_body": more}


def test_a_cycle_has_what_uvicorn_gives_to_one_except_the_access_log() -> None:
    async def attributes() -> tuple[dict[str, object], dict[str, object]]:
        connection = connect(FakeTransport())
        connection.on_message_begin()
        mine = ResponseCycle(connection, keep_alive=True)
        theirs = RequestResponseCycle(
            scope=connection.scope,
            transport=connection.transport,
            flow=connection.flow,
            logger=connection.logger,
            access_logger=connection.access_logger,
            access_log=False,
            default_headers=[],
            message_event=asyncio.Event(),
            expect_100_continue=False,
            keep_alive=True,
            on_response=connection.on_response_complete,
        )
        assert vars(mine).keys() <= vars(theirs).keys()
        return {name: getattr(mine, name, ABSENT) for name in vars(theirs)}, vars(theirs)

    mine, theirs = asyncio.run(attributes())
    absent = {name for name, value in mine.items() if value is ABSENT}
    assert absent == {"access_logger", "access_log"}
    state = {
        name: value
        for name, value in theirs.items()
        if isinstance(value, bool | int | None) and name not in absent
    }
    assert {name: mine[name] for name in state} == state


def test_a_whole_response_is_one_write() -> None:
    transport = respond(start(JSON, (b"Content-Length", b"2")), body(b"{}"))
    head = b"HTTP/1.1 200 OK\r\ndate: today\r\ncontent-type: application/json\r\n"
    assert transport.writes == [head + b"content-length: 2\r\n\r\n{}"]
    assert not transport.closed


def test_the_headers_of_a_stream_do_not_wait_for_its_first_part() -> None:
    transport = respond(start(JSON), body(b"one", more=True), body(b""))
    head, *parts = transport.writes
    assert head.endswith(b"\r\ntransfer-encoding: chunked\r\n\r\n")
    assert parts == [b"3\r\none\r\n", b"0\r\n\r\n"]


def test_a_large_body_is_sent_after_its_headers() -> None:
    data = b"x" * SMALL_WRITE
    transport = respond(start((b"content-length", b"%d" % len(data))), body(data))
    assert b"".join(transport.writes).partition(b"\r\n\r\n")[2] == data


def test_a_response_to_head_has_no_body() -> None:
    transport = respond(start((b"content-length", b"2")), body(b"{}"), method="HEAD")
    assert b"".join(transport.writes).endswith(b"content-length: 2\r\n\r\n")


@pytest.mark.parametrize("value", [b"close", b"Keep-Alive, Close"], ids=["close", "list"])
def test_a_response_that_closes_the_connection_ends_it(value: bytes) -> None:
    transport = respond(start((b"connection", value), (b"content-length", b"0")), body(b""))
    assert transport.closed and b"".join(transport.writes).count(b"connection: ") == 1


@pytest.mark.parametrize(
    "header",
    [(b"x-a", b"1\r\nx-b: 2"), (b"x\r\n", b"1"), (b"x a", b"1"), (b"content-length", b"1\r\n")],
    ids=["value", "name", "space", "length"],
)
def test_a_header_that_could_be_read_as_several_is_not_sent(header: tuple[bytes, bytes]) -> None:
    transport = FakeTransport()
    with pytest.raises(RuntimeError, match="invalid"):
        asyncio.run(_send(transport, [start(JSON, header)]))
    assert not transport.writes


@pytest.mark.parametrize("data", [b"", b"{}}"], ids=["shorter", "longer"])
def test_a_body_of_another_length_than_declared_is_an_error(data: bytes) -> None:
    with pytest.raises(RuntimeError, match="Content-Length"):
        respond(start((b"content-length", b"2")), body(data))


@pytest.mark.parametrize(
    "messages",
    [[body(b"")], [start(), start()], [start(), body(b""), start()]],
    ids=["body", "second start", "start after the end"],
)
def test_messages_out_of_order_are_errors(messages: list[ASGISendEvent]) -> None:
    with pytest.raises(RuntimeError, match="wrong time"):
        respond(*messages)


def test_nothing_follows_the_last_part_of_a_body() -> None:
    with pytest.raises(RuntimeError, match="after the end"):
        respond(start(), body(b"one"), body(b"two"))


def test_a_response_to_a_closed_connection_is_no_error() -> None:
    transport = FakeTransport()
    transport.close()
    asyncio.run(_send(transport, [start((b"content-length", b"2")), body(b"{}")]))
    assert not transport.writes
