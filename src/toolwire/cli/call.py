"""`toolwire call`: call one tool, from a file or on a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click
from msgspec import Struct, to_builtins

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.input.environment import read_token, read_variable
from toolwire.cli.input.files import read_input, require_stdout
from toolwire.cli.output.printable import to_printable
from toolwire.cli.output.view import choose_view
from toolwire.cli.services.ledger_url import open_ledger, report_ledger_errors
from toolwire.cli.services.tool_sources import add_server_tools, load_local_tools
from toolwire.conversation.json import JSON, Object, dump, parse

if TYPE_CHECKING:
    from toolwire.execution.ledger.base import Failure
    from toolwire.execution.tool_call import ToolCallResult
    from toolwire.tools.registry import Tools
    from toolwire.tools.runnable import Runnable

URL = "http://127.0.0.1:8765"
STATES = {
    "running": "the call is still running; ask for its result with --call-id {id}",
    "lost": "the call started, and its outcome is unknown; this call id does not run again",
    "mismatch": "this call id belongs to a call with other arguments; the tool did not run",
    "gone": "the call ran, and its result is no longer stored; this call id does not run again",
    "unavailable": "the call could not be recorded, so the tool did not run; try again",
    "too-old": "this call id is older than the records of the ledger; the tool did not run",
}
"""Messages for calls without an outcome."""
REFUSALS = (
    "bad_request",
    "invalid_input",
    "missing_requirements",
    "tool_not_found",
    "unauthenticated",
)
"""The kinds of failures that report wrong usage: the tool did not run."""


class CallOptions(Struct, frozen=True, kw_only=True):
    """The call that the command line describes."""

    tool: str
    arguments: tuple[str, ...]
    input_json: str | None
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
    help="The OXP server that has the tool.",
)
@click.option(
    "--tools",
    "sources",
    metavar="SOURCE",
    multiple=True,
    help="A file, package or server that has the tool, as in `toolwire tools`.",
)
@click.option(
    "--input",
    "input_json",
    metavar="JSON",
    help="All arguments as one JSON object; - reads it from stdin.",
)
@click.option(
    "--call-id", metavar="ID", help="The id of the call. A repeated id does not run the tool again."
)
@click.option(
    "--ledger",
    metavar="URL",
    help="Where to record the call, with --tools. A server has its own ledger.",
)
@click.option(
    "--user", "user_id", metavar="ID", help="The user on whose behalf the tool is called."
)
@click.option(
    "--token",
    "tokens",
    metavar="ID=VARIABLE",
    multiple=True,
    help="Give the tool a token from an environment variable.",
)
@click.option(
    "--secret",
    "secrets",
    metavar="NAME",
    multiple=True,
    help="Give the tool a secret from the environment variable of this name.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the record of the call as JSON, even if it failed.",
)
@click.pass_context
def command(
    ctx: click.Context,
    tool: str,
    arguments: tuple[str, ...],
    url: str,
    sources: tuple[str, ...],
    input_json: str | None,
    call_id: str | None,
    ledger: str | None,
    user_id: str | None,
    tokens: tuple[str, ...],
    secrets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Call a tool and print its value.

    TOOL is an id, with or without a version: Calculator.Add, Calculator.Add@1,
    Calculator.Add@1.0.0. NAME=VALUE is converted to the type in the tool's schema; NAME:=JSON is
    always JSON. TOOLWIRE_API_KEY or TOOLWIRE_TOKEN authenticates to a server.

    Exit codes: 0 the call succeeded, 1 it failed, 2 wrong usage.
    """
    if ledger is not None and not sources:
        raise CommandError("--ledger works only with --tools: a server records its calls itself")
    if call_id == "":
        raise CommandError("--call-id: expected an id, got an empty string")
    require_stdout()
    require_extra("tools")
    options = CallOptions(
        tool=tool,
        arguments=arguments,
        input_json=input_json,
        call_id=call_id,
        user_id=user_id,
        tokens=dict(map(read_token, tokens)),
        secrets={name: read_variable(name) for name in secrets},
    )
    with report_ledger_errors(ledger):
        local_tools = load_local_tools(sources)
        result = asyncio.run(_call(options, local_tools, sources=sources or (url,), ledger=ledger))
    failure = result.outcome.failure if result.outcome is not None else None
    succeeded = result.outcome is not None and failure is None
    if failure is not None and failure.kind in REFUSALS:
        raise CommandError(f"{tool}: {_describe_refusal(failure)}")
    if as_json:
        choose_view().body(dump(_row(result)))
    elif result.outcome is not None and failure is None:
        choose_view().body(dump(result.outcome.value))
    else:
        _report_failure(tool, result, failure)
    ctx.exit(0 if succeeded else 1)


def _report_failure(tool: str, result: ToolCallResult, failure: Failure | None) -> None:
    """Report on stderr why there is no value."""
    if failure is None:
        message = STATES[result.state].format(id=result.call_id)
        click.echo(f"{tool}: {to_printable(message)}", err=True)
        return
    click.echo(f"{tool}: {to_printable(failure.message)}", err=True)
    if failure.additional_prompt_content:
        click.echo(to_printable(failure.additional_prompt_content), err=True)
    if failure.can_retry:
        after = f" after {failure.retry_after_ms} ms" if failure.retry_after_ms else ""
        click.echo(f"the call may be retried{after}", err=True)


def _row(result: ToolCallResult) -> Object:
    """Return the record of a call as JSON."""
    outcome = result.outcome
    row: Object = {
        "call_id": result.call_id,
        "state": result.state,
        "attempt": result.attempt,
        "replayed": result.replayed,
    }
    if outcome is None:
        return {**row, "message": STATES[result.state].format(id=result.call_id)}
    row["duration_ms"] = outcome.duration_ms
    if outcome.failure is None:
        return {**row, "value": outcome.value}
    failure: JSON = to_builtins(outcome.failure)
    return {**row, "failure": failure}


def _describe_refusal(failure: Failure) -> str:
    """Return why a server refused a call, by parameter if the server names them."""
    errors = failure.extra.get("parameter_errors")
    if isinstance(errors, dict) and errors:
        return "; ".join(f"{name}: {why}" for name, why in errors.items())
    details = f" ({failure.developer_message})" if failure.developer_message else ""
    return f"{failure.message}{details}"


async def _call(
    options: CallOptions, tools: Tools, *, sources: tuple[str, ...], ledger: str | None
) -> ToolCallResult:
    from toolwire.cli.output.log_format import format_logs
    from toolwire.execution.errors import MissingRequirements
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.log_redaction import redact_all_logs
    from toolwire.execution.tool_call import ToolCall
    from toolwire.tools.errors import InvalidInput, ToolDefinitionError, UnknownTool

    async with AsyncExitStack() as stack:
        await add_server_tools(tools, sources, stack)
        try:
            tool = tools.resolve(options.tool)
        except UnknownTool as error:
            raise CommandError(error.developer_message) from None
        call = ToolCall(
            tool=tool,
            input=_read_arguments(tool, options),
            call_id=options.call_id,
            user_id=options.user_id,
            tokens=options.tokens,
            secrets=options.secrets,
        )
        redact_all_logs()
        format_logs()
        executor = ToolExecutor(open_ledger(ledger))
        try:
            executor.check_tools([tool])
            await stack.enter_async_context(executor)
            return await executor.execute(call)
        except ToolDefinitionError as error:
            raise CommandError(str(error)) from None
        except InvalidInput as error:
            raise CommandError(f"{options.tool}: {error}") from None
        except MissingRequirements as error:
            raise CommandError(f"{options.tool}: {error} (--token, --secret, --user)") from None


# --- arguments ------------------------------------------------------------------------------------


def _read_arguments(tool: Runnable, options: CallOptions) -> Object:
    """Return the arguments of --input, overridden by those of NAME=VALUE."""
    values: Object = {} if options.input_json is None else _read_input_json(options.input_json)
    properties = tool.input_schema.get("properties")
    schemas = properties if isinstance(properties, dict) else {}
    names: set[str] = set()
    for argument in options.arguments:
        key, equals, text = argument.partition("=")
        name = key.removesuffix(":")
        if not equals or not name:
            raise CommandError(f"{argument}: expected NAME=VALUE, or NAME:=JSON")
        if name in names:
            raise CommandError(f"{name} is given twice")
        names.add(name)
        if key.endswith(":"):
            values[name] = _parse_json(argument, text)
        else:
            values[name] = _convert(text, schemas.get(name))
    return values


def _read_input_json(option: str) -> Object:
    text = read_input("-").decode("utf-8", "replace") if option == "-" else option
    try:
        value = parse(text)
    except ValueError as error:
        raise CommandError(f"--input: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise CommandError("--input: expected a JSON object")
    return value


def _parse_json(argument: str, text: str) -> JSON:
    try:
        return parse(text)
    except ValueError:
        raise CommandError(f"{argument}: not JSON") from None


def _convert(text: str, schema: JSON) -> JSON:
    """Return text where the schema accepts text; else JSON if the text is JSON."""
    if _accepts_text(schema):
        return text
    try:
        return parse(text)
    except ValueError:
        return text


def _accepts_text(schema: JSON) -> bool:
    if not isinstance(schema, dict):
        return False
    types, choices = schema.get("type"), schema.get("enum")
    if types == "string" or (isinstance(types, list) and "string" in types):
        return True
    if isinstance(choices, list) and types is None:
        return all(isinstance(choice, str) for choice in choices)
    alternatives = [*_as_list(schema.get("anyOf")), *_as_list(schema.get("oneOf"))]
    return any(map(_accepts_text, alternatives))


def _as_list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
