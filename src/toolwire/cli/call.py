"""`toolwire call`: call one tool, here or on a server."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click

from toolwire._json import JSON, Object, dump, parse
from toolwire.cli._misuse import Misuse, printable, read_input
from toolwire.cli._sources import gathered
from toolwire.cli._toolbox import open_ledger, part
from toolwire.cli._view import view

if TYPE_CHECKING:
    from toolwire.tools.asking import Answer
    from toolwire.tools.runnable import Runnable

URL = "http://127.0.0.1:8765"


@click.command("call")
@click.argument("tool")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("--url", metavar="URL", default=URL, show_default=True, envvar="TOOLWIRE_URL", help="The OXP server to ask.")
@click.option("--tools", "sources", metavar="SOURCE", multiple=True,
              help="A file, package or server to take the tool from instead, as in `toolwire tools`.")  # fmt: skip
@click.option("--input", "given", metavar="JSON", help="All arguments as one JSON object; - reads it from stdin.")
@click.option("--call-id", metavar="ID", help="The id of the call: the same id again does not run it again.")
@click.option("--ledger", metavar="URL", help="Where the call is recorded, with --tools.")
@click.option("--user", "user_id", metavar="ID", help="The user on whose behalf it is called.")
@click.option("--token", "tokens", metavar="ID=VARIABLE", multiple=True,
              help="Give the tool a token, from a variable of the environment.")  # fmt: skip
@click.option("--secret", "secrets", metavar="NAME", multiple=True,
              help="Give the tool a secret, from the variable of the environment of that name.")  # fmt: skip
@click.pass_context
def verb(ctx: click.Context, tool: str, arguments: tuple[str, ...], url: str, sources: tuple[str, ...], given: str | None,
         call_id: str | None, ledger: str | None, user_id: str | None, tokens: tuple[str, ...],
         secrets: tuple[str, ...]) -> None:  # fmt: skip
    """Call a tool and print what it gives.

    TOOL is an id: Calculator.Add, Calculator.Add@1, Calculator.Add@1.0.0. Values are read as the tool's schema wants them;
    NAME:=JSON gives JSON whatever the schema says.

    Exit codes: 0 it succeeded, 1 it failed, 2 misuse.
    """
    held = {one.partition("=")[0]: _variable(one.partition("=")[2] or one) for one in tokens}
    kept = {one: _variable(one) for one in secrets}
    answer = asyncio.run(_called(sources or (url,), ledger, tool, arguments, given, call_id, user_id, held, kept))
    if answer.outcome is not None and answer.outcome.failure is None:
        view().body(dump(answer.outcome.value))
        return
    failure = answer.outcome.failure if answer.outcome is not None else None
    said = failure.message if failure is not None else f"no result: the call is {answer.state}"
    click.echo(f"{tool}: {printable(said)}", err=True)
    if failure is not None and failure.additional_prompt_content:
        click.echo(printable(failure.additional_prompt_content), err=True)
    if failure is not None and failure.can_retry:
        click.echo("it may be tried again", err=True)
    ctx.exit(1)


async def _called(sources: tuple[str, ...], ledger: str | None, name: str, arguments: tuple[str, ...], given: str | None,
                  call_id: str | None, user_id: str | None, tokens: dict[str, str],
                  secrets: dict[str, str]) -> Answer:  # fmt: skip
    asking, errors = part("toolwire.tools.asking"), part("toolwire.tools.errors")
    async with AsyncExitStack() as stack:
        tools = await gathered(sources, stack)
        try:
            tool: Runnable = tools.resolve(name)
        except errors.UnknownTool as error:
            raise Misuse(f"{error.message} {error.developer_message}") from None
        values = _values(tool, arguments, given)
        calls = await stack.enter_async_context(part("toolwire.io.calls").Calls(open_ledger(ledger)))
        try:
            answer: Answer = await calls.call(asking.Ask(
                tool=tool, input=values, call_id=call_id, user_id=user_id, tokens=tokens, secrets=secrets,
            ))  # fmt: skip
        except errors.InvalidInput as error:
            raise Misuse(f"{name}: {error}") from None
        except asking.MissingRequirements as error:
            raise Misuse(f"{name}: {error} (--token, --secret, --user)") from None
        return answer


def _values(tool: Runnable, arguments: tuple[str, ...], given: str | None) -> Object:
    values: Object = {}
    if given is not None:
        text = read_input("-").decode("utf-8", "replace") if given == "-" else given
        try:
            read = parse(text)
        except ValueError as error:
            raise Misuse(f"--input: not JSON: {error}") from None
        if not isinstance(read, dict):
            raise Misuse("--input: expected a JSON object")
        values |= read
    properties = tool.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for one in arguments:
        name, equals, text = one.partition("=")
        if not equals:
            raise Misuse(f"{one}: expected NAME=VALUE")
        values[name.removesuffix(":")] = _json(one, text) if name.endswith(":") else _typed(known.get(name), text)
    return values


def _json(one: str, text: str) -> JSON:
    try:
        return parse(text)
    except ValueError:
        raise Misuse(f"{one}: not JSON") from None


def _typed(schema: JSON, text: str) -> JSON:
    """A value as its schema wants it: text where text will do, else JSON if it is some."""
    wanted = schema.get("type") if isinstance(schema, dict) else None
    if wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return text
    try:
        return parse(text)
    except ValueError:
        return text


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise Misuse(f"the variable {name} is not set")
    return value
