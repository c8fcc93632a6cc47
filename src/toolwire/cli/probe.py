"""`toolwire probe`: two parallel calls of one tool through a gateway, over two wires."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import urlsplit

import click
from rich.text import Text

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.output.call_threads import ASCII, UNICODE, draw_threads
from toolwire.cli.output.console import PipeSafeConsole
from toolwire.cli.output.printable import to_printable
from toolwire.cli.services.local_request import open_url
from toolwire.codec import decode
from toolwire.conversation.json import JSON, Object, get
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Text as TextPart
from toolwire.conversation.parts import output_text
from toolwire.translate import translate

CALL_WIRE, CALL_PATH = "openai-chat", "/v1/chat/completions"
RESULT_WIRE, RESULT_PATH = "anthropic", "/v1/messages"
KEY = "TOOLWIRE_KEY"
TIMEOUT = 120.0
START_TIMEOUT = 5.0
"""Seconds to wait for a gateway that was started just before."""
POLL = 0.1
_START = (
    "nothing is listening there; start the gateway (`toolwire gateway`), or correct the address"
)
QUESTION = "What is the weather in Oslo, and the weather in Rome?"
WEATHER = {"Oslo": "-3 degrees", "Rome": "24 degrees"}
TOOL: Object = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Return the temperature in one city. Call it once for each city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
COLOURS = ("cyan", "magenta", "yellow", "green")


@click.command("probe")
@click.argument("url", default="http://127.0.0.1:8080")
@click.option("--model", default="demo", show_default=True, help="The model to ask.")
@click.pass_context
def command(ctx: click.Context, url: str, model: str) -> None:
    """Check that a gateway keeps the ids of two parallel tool calls.

    The model's calls arrive over OpenAI's API, and their results go back over Anthropic's, in
    reverse order. URL is the address of the gateway. If the gateway requires a key, set
    TOOLWIRE_KEY. The command waits up to 5 seconds for a gateway that is still starting.

    Exit codes: 0 every result found its call, 1 one did not, 2 no answer from the gateway.
    """
    url = _parse_url(url)
    question: Object = {"role": "user", "content": QUESTION}
    request: Object = {"model": model, "messages": [question], "tools": [TOOL], "max_tokens": 1024}
    message = get(_post(url + CALL_PATH, request), ("choices", 0, "message"))
    if not isinstance(message, dict):
        raise CommandError(f"{url}{CALL_PATH}: the response has no message")
    history = [question, message, *reversed(_results(message))]
    encoded = translate({**request, "messages": [*history]}, CALL_WIRE, RESULT_WIRE)
    sent = decode(encoded.body, RESULT_WIRE)
    answer = decode(_post(url + RESULT_PATH, encoded.body), RESULT_WIRE, "response")
    mixed_up = _mixed_up(sent)
    _show(sent, answer, mixed_up)
    ctx.exit(1 if mixed_up or len(sent.calls()) < len(WEATHER) else 0)


def _parse_url(url: str) -> str:
    """Return the address of a gateway without a slash at its end."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise CommandError(f"{url}: expected a URL such as http://127.0.0.1:8080")
    return url.rstrip("/")


def _results(message: Object) -> list[JSON]:
    """Run the calls of a message, and return a message with the result of each."""
    conversation = decode({"messages": [message]}, CALL_WIRE)
    return [
        {"role": "tool", "tool_call_id": call.id, "content": WEATHER.get(_city(call.input), "?")}
        for call in conversation.calls()
    ]


def _city(arguments: JSON) -> str:
    return str(get(arguments, ("city",)))


def _mixed_up(conversation: Conversation) -> int:
    """The number of calls whose result is absent or that of another call."""
    return sum(
        pair.call is None
        or pair.result is None
        or output_text(pair.result.output) != WEATHER.get(_city(pair.call.input))
        for pair in conversation.pairs()
    )


def _post(url: str, body: JSON) -> JSON:
    """Return the body of the response. Raises CommandError if the gateway does not give one."""
    headers = {"content-type": "application/json"}
    if key := os.environ.get(KEY):
        headers["authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        text = _send(request)
    except urllib.error.HTTPError as error:
        text = error.read(500)
        why = "this is not a gateway" if text.lstrip().startswith(b"<") else _printable(text)
        raise CommandError(f"{url}: status {error.code}: {why}") from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise CommandError(f"{url}: {_START if _is_refused(error) else reason}") from None
    try:
        parsed: JSON = json.loads(text)
    except ValueError:
        raise CommandError(f"{url}: this is not a gateway: the response is not JSON") from None
    return parsed


def _send(request: urllib.request.Request) -> bytes:
    """Send a request, again for some seconds while nothing is listening."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        try:
            with open_url(request, TIMEOUT) as response:
                return bytes(response.read())
        except urllib.error.URLError as error:
            if not _is_refused(error) or time.monotonic() > deadline:
                raise
        time.sleep(POLL)


def _is_refused(error: Exception) -> bool:
    return isinstance(error, urllib.error.URLError) and isinstance(
        error.reason, ConnectionRefusedError
    )


def _printable(text: bytes) -> str:
    return to_printable(text.decode(errors="replace"))


def _show(sent: Conversation, answer: Conversation, mixed_up: int) -> None:
    """Draw the threads from the calls to their results, and print the answer of the model."""
    console = PipeSafeConsole(highlight=False)
    glyphs = UNICODE if console.encoding.lower().startswith("utf") else ASCII
    lines = [line for line in draw_threads(sent, glyphs) if line.thread is not None]
    width = max((len(line.text) for line in lines), default=0)
    calls = len(sent.calls())
    for position, line in enumerate(lines):
        if position == 0:
            _print_heading(console, CALL_PATH, "the model calls one tool twice")
        if position == calls:
            _print_heading(console, RESULT_PATH, "the results go back, last one first")
        style = COLOURS[(line.thread or 0) % len(COLOURS)]
        row = f"  {line.gutter} {line.text:<{width}}  "
        console.print(Text.assemble(row, (line.id, style)), soft_wrap=True)
    _print_heading(console, "the model answers", "")
    for part in answer.messages[-1].parts:
        for text in part.text.splitlines() if isinstance(part, TextPart) else ():
            console.print(Text(f"  {to_printable(text)}"), soft_wrap=True)
    verdict = f"{calls} calls, {len(sent.results())} results: "
    if mixed_up or calls < len(WEATHER):
        console.print(Text(f"{verdict}{mixed_up} of them mixed up", style="bold red"))
    else:
        console.print(Text(f"{verdict}every result found its call", style="bold green"))


def _print_heading(console: PipeSafeConsole, path: str, what: str) -> None:
    console.print(Text.assemble((path, "bold"), f"  {what}" if what else ""))
