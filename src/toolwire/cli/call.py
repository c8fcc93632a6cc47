"""`toolwire call`: call one tool, here or on a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click
from msgspec import Struct, to_builtins

from toolwire.cli.framework.usage_error import CommandError, need_stdout, printable, read_input
from toolwire.cli.output.output_mode import view
from toolwire.cli.services.lazy_import import open_ledger, part, recorded, token, variable
from toolwire.cli.services.tool_sources import gather, loaded
from toolwire.conversation.json import JSON, Object, dump, parse

if TYPE_CHECKING:
    from toolwire.execution.ledger.base import Failure
    from toolwire.execution.tool_call import ToolCallResult
    from toolwire.tools.registry import Tools
    from toolwire.tools.runnable import Runnable

URL = "http://127.0.0.1:8765"
STATES = {
    "running": "it is still running; ask again with --call-id {id}",
    "lost": "it was begun, and nobody knows how it ended; it is not run again under this call id",
    "mismatch": "this call id belongs to another call; nothing was run",
    "gone": "it ran, and its result is no longer kept; it is not run again under this call id",
    "unavailable": "the call could not be recorded, so it was not run; it may be tried again",
    "too-old": "this call id is older than the record of calls; nothing was run",
}
"""What is said of a call without an outcome."""
REFUSED = (
    "bad_request",
    "invalid_input",
    "missing_requirements",
    "tool_not_found",
    "unauthenticated",
)
"""Kinds of failures that are a server's way to say misuse: nothing was run."""


class Given(Struct, frozen=True):
    """What the command line says of a call, beside where the tool is."""

    tool: str
    arguments: tuple[str, ...]
    input: str | None
    call_id: str | None
    user_id: str | None
    tokens: dict[str, str]
    secrets: dict[str, str]


@click.command("call")
@click.argument("tool")
@click.argument("arguments", metavar="[NAME=VALUE]...", nargs=-1)
@click.option(
    "--url",
    metavar="URL",
    default=URL,
    show_default=True,
    envvar="TOOLWIRE_URL",
    help="The OXP server to ask.",
)
@click.option(
    "--tools",
    "sources",
    metavar="SOURCE",
    multiple=True,
    help="A file, package or server to take the tool from instead, as in `toolwire tools`.",
)
@click.option(
    "--input",
    "given",
    metavar="JSON",
    help="All arguments as one JSON object; - reads it from stdin.",
)
@click.option(
    "--call-id", metavar="ID", help="The id of the call: the same id again does not run it again."
)
@click.option(
    "--ledger",
    metavar="URL",
    help="Where the call is recorded, with --tools; a server has a ledger of its own.",
)
@click.option("--user", "user_id", metavar="ID", help="The user on whose behalf it is called.")
@click.option(
    "--token",
    "tokens",
    metavar="ID=VARIABLE",
    multiple=True,
    help="Give the tool a token, from a variable of the environment.",
)
@click.option(
    "--secret",
    "secrets",
    metavar="NAME",
    multiple=True,
    help="Give the tool a secret, from the variable of the environment of that name.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print everything known of the call as JSON, also if it failed.",
)
@click.pass_context
def command(
    ctx: click.Context,
    tool: str,
    arguments: tuple[str, ...],
    url: str,
    sources: tuple[str, ...],
    given: str | None,
    call_id: str | None,
    ledger: str | None,
    user_id: str | None,
    tokens: tuple[str, ...],
    secrets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Call a tool and print what it gives.

    TOOL is an id: Calculator.Add, Calculator.Add@1, Calculator.Add@1.0.0. Values are read as the
    tool's schema wants them; NAME:=JSON gives JSON whatever the schema says. TOOLWIRE_API_KEY or
    TOOLWIRE_TOKEN says who is calling a server.

    Exit codes: 0 it succeeded, 1 it failed, 2 misuse.
    """
    if ledger is not None and not sources:
        raise CommandError("--ledger is of use with --tools: a server records its calls itself")
    if call_id == "":
        raise CommandError("--call-id: expected an id, got nothing")
    need_stdout()
    held = dict(token(one) for one in tokens)
    asked = Given(
        tool, arguments, given, call_id, user_id, held, {one: variable(one) for one in secrets}
    )
    with recorded(ledger):
        answer = asyncio.run(_called(loaded(sources), sources or (url,), ledger, asked))
    failure = answer.outcome.failure if answer.outcome is not None else None
    if failure is not None and failure.kind in REFUSED:
        raise CommandError(f"{tool}: {_refusal(failure)}")
    if as_json:
        view().body(dump(_row(answer)))
    elif answer.outcome is not None and failure is None:
        view().body(dump(answer.outcome.value))
    else:
        _tell(tool, answer, failure)
    ctx.exit(0 if answer.outcome is not None and failure is None else 1)


def _tell(tool: str, answer: ToolCallResult, failure: Failure | None) -> None:
    """Why there is no value, on stderr."""
    if failure is None:
        click.echo(f"{tool}: {printable(STATES[answer.state].format(id=answer.call_id))}", err=True)
        return
    click.echo(f"{tool}: {printable(failure.message)}", err=True)
    if failure.additional_prompt_content:
        click.echo(printable(failure.additional_prompt_content), err=True)
    if failure.can_retry:
        after = f" after {failure.retry_after_ms} ms" if failure.retry_after_ms else ""
        click.echo(f"it may be tried again{after}", err=True)


def _row(answer: ToolCallResult) -> Object:
    """All that is known of a call."""
    outcome = answer.outcome
    row: Object = {
        "call_id": answer.call_id,
        "state": answer.state,
        "attempt": answer.attempt,
        "replayed": answer.replayed,
    }
    if outcome is None:
        return {**row, "message": STATES[answer.state].format(id=answer.call_id)}
    row["duration_ms"] = outcome.duration_ms
    if outcome.failure is None:
        return {**row, "value": outcome.value}
    failure: JSON = to_builtins(outcome.failure)
    return {**row, "failure": failure}


def _refusal(failure: Failure) -> str:
    """What a server says is wrong: by parameter where it does."""
    wrong = failure.extra.get("parameter_errors")
    if isinstance(wrong, dict) and wrong:
        return "; ".join(f"{name}: {why}" for name, why in wrong.items())
    more = f" ({failure.developer_message})" if failure.developer_message else ""
    return f"{failure.message}{more}"


async def _called(
    tools: Tools, sources: tuple[str, ...], ledger: str | None, given: Given
) -> ToolCallResult:
    asking, errors = part("toolwire.execution.tool_call"), part("toolwire.tools.errors")
    async with AsyncExitStack() as stack:
        await gather(tools, sources, stack)
        try:
            tool: Runnable = tools.resolve(given.tool)
        except errors.UnknownTool as error:
            raise CommandError(error.developer_message) from None
        values = _values(tool, given.arguments, given.input)
        part("toolwire.execution.log_redaction").redact_all_logs()
        calls = part("toolwire.execution.executor").ToolExecutor(open_ledger(ledger))
        try:
            calls.check_tools([tool])
            await stack.enter_async_context(calls)
            answer: ToolCallResult = await calls.execute(
                asking.ToolCall(
                    tool=tool,
                    input=values,
                    call_id=given.call_id,
                    user_id=given.user_id,
                    tokens=given.tokens,
                    secrets=given.secrets,
                )
            )
        except errors.ToolDefinitionError as error:
            raise CommandError(str(error)) from None
        except errors.InvalidInput as error:
            raise CommandError(f"{given.tool}: {error}") from None
        except part("toolwire.execution.errors").MissingRequirements as error:
            raise CommandError(f"{given.tool}: {error} (--token, --secret, --user)") from None
        return answer


def _values(tool: Runnable, arguments: tuple[str, ...], given: str | None) -> Object:
    values: Object = {}
    if given is not None:
        text = read_input("-").decode("utf-8", "replace") if given == "-" else given
        try:
            read = parse(text)
        except ValueError as error:
            raise CommandError(f"--input: not JSON: {error}") from None
        if not isinstance(read, dict):
            raise CommandError("--input: expected a JSON object")
        values |= read
    properties = tool.input_schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    named: set[str] = set()
    for one in arguments:
        written, equals, text = one.partition("=")
        name = written.removesuffix(":")
        if not equals or not name:
            raise CommandError(f"{one}: expected NAME=VALUE, or NAME:=JSON")
        if name in named:
            raise CommandError(f"{name} is given twice")
        named.add(name)
        values[name] = _json(one, text) if written.endswith(":") else _typed(known.get(name), text)
    return values


def _json(one: str, text: str) -> JSON:
    try:
        return parse(text)
    except ValueError:
        raise CommandError(f"{one}: not JSON") from None


def _typed(schema: JSON, text: str) -> JSON:
    """A value as its schema wants it: text where text will do, else JSON if it is some."""
    if _takes_text(schema):
        return text
    try:
        return parse(text)
    except ValueError:
        return text


def _takes_text(schema: JSON) -> bool:
    if not isinstance(schema, dict):
        return False
    wanted, words = schema.get("type"), schema.get("enum")
    if wanted == "string" or (isinstance(wanted, list) and "string" in wanted):
        return True
    if isinstance(words, list) and wanted is None:
        return all(isinstance(word, str) for word in words)
    return any(_takes_text(one) for key in ("anyOf", "oneOf") for one in _list(schema.get(key)))


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
