"""Compare the CPU time of code that is written by hand here with libraries that do the same.

`python bench/alternatives.py` prints the rows that docs/decisions/ quotes. The libraries are test
dependencies: botocore, the SSE decoder of the OpenAI SDK, starlette.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from time import process_time

from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from botocore.eventstream import EventStreamBuffer  # type: ignore[import-untyped]
from openai._streaming import SSEDecoder
from starlette.applications import Starlette
from starlette.requests import Request as StarletteRequest
from starlette.responses import JSONResponse
from starlette.routing import Route

from toolwire.conversation.lazy_json import LazyJson
from toolwire.providers import sigv4
from toolwire.server.asgi import (
    BodyLimits,
    BodyReader,
    Message,
    Receive,
    Scope,
    Send,
    answer,
    request_of,
)
from toolwire.streaming.framing import aws
from toolwire.streaming.framing.sse import SSE

ROUNDS = 5
EVENTS = 2000
EVENT = {"choices": [{"index": 0, "delta": {"content": "word "}, "finish_reason": None}], "id": "x"}
SSE_BYTES = b"".join(b"data: %b\n\n" % json.dumps(EVENT).encode() for _ in range(EVENTS))
AWS_BYTES = b"".join(
    aws.write(json.dumps(EVENT).encode(), "contentBlockDelta") for _ in range(EVENTS)
)
ARGUMENTS = json.dumps({"rows": [{"id": n, "text": "some text " * 4} for n in range(50)]})
CHUNK = 4096


def microseconds(work: Callable[[], None], units: int) -> float:
    """Return the CPU microseconds of one unit of work: the median of several rounds."""
    rounds: list[float] = []
    for _ in range(ROUNDS):
        start = process_time()
        work()
        rounds.append((process_time() - start) / units * 1e6)
    return median(rounds)


# --- framing --------------------------------------------------------------------------------------


def chunks(data: bytes) -> list[bytes]:
    """Split bytes as a socket delivers them."""
    return [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]


def our_sse() -> None:
    decoder = SSE()
    count = sum(len(decoder.feed(chunk)) for chunk in chunks(SSE_BYTES))
    assert count == EVENTS


def openai_sse() -> None:
    assert sum(1 for _ in SSEDecoder().iter_bytes(iter(chunks(SSE_BYTES)))) == EVENTS


def our_aws() -> None:
    decoder = aws.AwsEvents()
    count = sum(len(decoder.feed(chunk)) for chunk in chunks(AWS_BYTES))
    assert count == EVENTS


def botocore_aws() -> None:
    buffer = EventStreamBuffer()
    count = 0
    for chunk in chunks(AWS_BYTES):
        buffer.add_data(chunk)
        count += sum(1 for _ in buffer)
    assert count == EVENTS


# --- signing --------------------------------------------------------------------------------------

URL = "https://bedrock-runtime.eu-north-1.amazonaws.com/model/m/converse"
BODY = b'{"messages":[]}' * 100
SIGNATURES = 500
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "an example of a secret key",
    "region": "eu-north-1",
}


def our_sigv4() -> None:
    for _ in range(SIGNATURES):
        sigv4.sign(
            "POST",
            URL,
            {"content-type": "application/json"},
            BODY,
            env=ENVIRONMENT,
            service="bedrock",
            now=datetime.now(UTC),
        )


def botocore_sigv4() -> None:
    credentials = Credentials(
        ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
    )
    signer = SigV4Auth(credentials, "bedrock", ENVIRONMENT["region"])
    for _ in range(SIGNATURES):
        headers = {"content-type": "application/json"}
        signer.add_auth(AWSRequest(method="POST", url=URL, data=BODY, headers=headers))


# --- lazy JSON ------------------------------------------------------------------------------------

VALUES = 2000


def lazy_arguments() -> None:
    for _ in range(VALUES):
        assert LazyJson(ARGUMENTS).text


def parse_arguments() -> None:
    for _ in range(VALUES):
        assert json.dumps(json.loads(ARGUMENTS))


def parse_arguments_msgspec() -> None:
    for _ in range(VALUES):
        assert LazyJson.from_value(LazyJson(ARGUMENTS).value).text


# --- ASGI without a framework ---------------------------------------------------------------------

REQUESTS = 2000
SCOPE: Scope = {
    "type": "http",
    "method": "POST",
    "path": "/tools/call",
    "raw_path": b"/tools/call",
    "query_string": b"",
    "root_path": "",
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"2")],
}


async def receive() -> Message:
    return {"type": "http.request", "body": b"{}"}


async def send(message: Message) -> None:
    pass


_reader = BodyReader(BodyLimits())


async def plain_app(scope: Scope, receive: Receive, send: Send) -> None:
    await _reader.read(request_of(scope, receive))
    await answer(send, 200, b"{}", [(b"content-type", b"application/json")])


async def _starlette_route(request: StarletteRequest) -> JSONResponse:
    await request.body()
    return JSONResponse({})


starlette_app = Starlette(routes=[Route("/tools/call", _starlette_route, methods=["POST"])])


def plain_asgi() -> None:
    async def run() -> None:
        for _ in range(REQUESTS):
            await plain_app(dict(SCOPE), receive, send)

    asyncio.run(run())


def starlette_asgi() -> None:
    async def run() -> None:
        for _ in range(REQUESTS):
            await starlette_app(dict(SCOPE), receive, send)

    asyncio.run(run())


def import_milliseconds(module: str) -> float:
    """Return the milliseconds that importing a module takes in a new process."""
    code = f"from time import process_time as t; a = t(); import {module}; print((t() - a) * 1000)"
    runs = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    return median(runs)


ROWS: list[tuple[str, Callable[[], None], int]] = [
    ("SSE, one event: toolwire", our_sse, EVENTS),
    ("SSE, one event: openai SDK", openai_sse, EVENTS),
    ("AWS event stream, one event: toolwire", our_aws, EVENTS),
    ("AWS event stream, one event: botocore", botocore_aws, EVENTS),
    ("SigV4, one signature: toolwire", our_sigv4, SIGNATURES),
    ("SigV4, one signature: botocore", botocore_sigv4, SIGNATURES),
    ("arguments of 3 kB, carried as text", lazy_arguments, VALUES),
    ("arguments of 3 kB, parsed and written (msgspec, orjson)", parse_arguments_msgspec, VALUES),
    ("arguments of 3 kB, parsed and written (json)", parse_arguments, VALUES),
    ("ASGI request: toolwire.server.asgi", plain_asgi, REQUESTS),
    ("ASGI request: starlette", starlette_asgi, REQUESTS),
]


def main() -> None:
    """Print the table."""
    print("| what | CPU µs |\n|---|---|")
    for name, work, units in ROWS:
        print(f"| {name} | {microseconds(work, units):.1f} |")
    for module in ("toolwire", "botocore.auth", "botocore.session"):
        print(f"| import {module} | {import_milliseconds(module) * 1000:,.0f} |")


if __name__ == "__main__":
    main()
