"""`toolwire run`: an agent on the command line, with any model and any tools."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from toolwire.cli.framework.errors import CommandError
from toolwire.cli.framework.extras import require_extra
from toolwire.cli.input.environment import read_token, read_variable
from toolwire.cli.input.files import read_input
from toolwire.cli.output.printable import to_printable
from toolwire.cli.services.ledger_url import open_ledger, report_ledger_errors
from toolwire.cli.services.tool_sources import add_server_tools, load_local_tools

if TYPE_CHECKING:
    from toolwire.agent.events import Model, RunResult
    from toolwire.cli.output.transcript import EventWriter
    from toolwire.tools.registry import Tools

POSITIVE = click.IntRange(min=1)


@click.command("run")
@click.argument("question", required=False)
@click.option(
    "--model",
    "model_name",
    metavar="NAME",
    required=True,
    envvar="TOOLWIRE_MODEL",
    help=(
        "provider:model, as in anthropic:claude-opus-5; URL#profile:model; or the offline model,"
        " demo: or demo:PROVIDER."
    ),
)
@click.option(
    "--tools",
    "sources",
    metavar="SOURCE",
    multiple=True,
    help=(
        "A Python file or package, an OXP server (http://…), an MCP server (mcp+http://…,"
        " mcp:COMMAND)."
    ),
)
@click.option("--base-url", metavar="URL", help="A base URL to use instead of the provider's own.")
@click.option("--system", metavar="TEXT", help="The system prompt.")
@click.option("--save", metavar="FILE", help="Save the conversation to FILE after every step.")
@click.option(
    "--resume",
    metavar="FILE",
    help="Continue a saved conversation. Calls that ran do not run again.",
)
@click.option(
    "--ledger",
    metavar="URL",
    help="Where to record calls. Default: a file beside the saved conversation, else memory.",
)
@click.option(
    "--approve", is_flag=True, help="Ask on stderr before each call; read the decision from stdin."
)
@click.option(
    "--turns",
    type=POSITIVE,
    default=50,
    show_default=True,
    help="The maximum number of model responses in one run.",
)
@click.option(
    "--parallel",
    type=POSITIVE,
    default=8,
    show_default=True,
    help="The maximum number of calls that run at once.",
)
@click.option(
    "--text",
    "in_text",
    is_flag=True,
    help="Describe tools and calls in text, for a model without a tool API.",
)
@click.option("--no-stream", is_flag=True, help="Request whole responses instead of streams.")
@click.option(
    "--secret",
    "secrets",
    metavar="NAME",
    multiple=True,
    help="Give tools the secret in the environment variable NAME.",
)
@click.option(
    "--token",
    "tokens",
    metavar="ID=VARIABLE",
    multiple=True,
    help="Give tools a token from an environment variable.",
)
@click.option("--user", "user_id", metavar="ID", help="The user on whose behalf tools are called.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as one line of JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    question: str | None,
    model_name: str,
    sources: tuple[str, ...],
    base_url: str | None,
    system: str | None,
    save: str | None,
    resume: str | None,
    ledger: str | None,
    approve: bool,
    turns: int,
    parallel: int,
    in_text: bool,
    no_stream: bool,
    secrets: tuple[str, ...],
    tokens: tuple[str, ...],
    user_id: str | None,
    as_json: bool,
) -> None:
    """Run an agent: a model that can call tools.

    API keys come from the environment variables that the official SDKs use. With -, the question is
    read from stdin. With --resume and no question, the agent finishes the work in progress. A call
    and its result show the same letter.

    Exit codes: 0 the model finished, 1 an error or a limit stopped it, 2 wrong usage, 130 stopped
    with Ctrl-C.
    """
    question = _read_question(question, resume=resume, save=save, approve=approve)
    require_extra("tools")
    session_file = resume or save
    default_ledger = f"sqlite:///{session_file}.calls.db" if session_file else None
    options = RunOptions(
        model=model_name,
        base_url=base_url,
        sources=sources,
        ledger=ledger or default_ledger,
        session_file=session_file,
        resume=resume is not None,
        system=system,
        turns=turns,
        parallel=parallel,
        stream=not no_stream,
        in_text=in_text,
        approve=approve,
        as_json=as_json,
        secrets={name: read_variable(name) for name in secrets},
        tokens=dict(map(read_token, tokens)),
        user_id=user_id,
    )
    try:
        with report_ledger_errors(options.ledger):
            result = asyncio.run(_run(load_local_tools(sources), options, question))
    except KeyboardInterrupt:
        if session_file:
            click.echo(f"stopped; continue with --resume {to_printable(session_file)}", err=True)
        raise
    ctx.exit(0 if result.phase == "done" else 1)


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of the command line."""

    model: str
    base_url: str | None
    sources: tuple[str, ...]
    ledger: str | None
    session_file: str | None
    resume: bool
    system: str | None
    turns: int
    parallel: int
    stream: bool
    in_text: bool
    approve: bool
    as_json: bool
    secrets: dict[str, str]
    tokens: dict[str, str]
    user_id: str | None


def _read_question(
    question: str | None, *, resume: str | None, save: str | None, approve: bool
) -> str | None:
    """Return the question, from stdin if it is `-`; raise CommandError if options are in
    conflict."""
    if save and resume and save != resume:
        raise CommandError(
            "--save and --resume name two files; the conversation continues in its own file"
        )
    if resume is not None and not Path(resume).is_file():
        raise CommandError(f"{resume}: no such file")
    if save is not None and resume is None and Path(save).exists():
        raise CommandError(f"{save}: the file exists; continue it with --resume {save}")
    if question == "-" and approve:
        raise CommandError(
            "--approve reads decisions from stdin; give the question on the command line"
        )
    if question == "-":
        question = read_input("-").decode("utf-8", "replace").strip()
    if not question and (resume is None or question is not None):
        raise CommandError("there is no question: give one on the command line or on stdin")
    return question


async def _run(tools: Tools, options: RunOptions, question: str | None) -> RunResult:
    from toolwire.agent.agent import Agent
    from toolwire.agent.events import Limits, RunResult
    from toolwire.agent.session_store import FileStore
    from toolwire.cli.input.approval import ApprovalPrompt
    from toolwire.cli.output.log_format import format_logs
    from toolwire.execution.executor import ToolExecutor
    from toolwire.execution.log_redaction import redact_all_logs

    writer = _event_writer(options)
    async with AsyncExitStack() as stack:
        await add_server_tools(tools, options.sources, stack)
        model = await _open_model(options, stack)
        redact_all_logs()
        format_logs()
        executor = await stack.enter_async_context(ToolExecutor(open_ledger(options.ledger)))
        agent = Agent(
            model,
            [tools],
            executor=executor,
            system=options.system,
            limits=Limits(turns=options.turns, parallel=options.parallel),
            approve=ApprovalPrompt(writer.start_line) if options.approve else None,
            store=FileStore(options.session_file) if options.session_file else None,
            secrets=options.secrets,
            tokens=options.tokens,
            user_id=options.user_id,
        )
        if options.resume:
            await agent.resume()
        result: RunResult | None = None
        async with aclosing(agent.watch(question)) as events:
            async for event in events:
                writer.write(event)
                if isinstance(event, RunResult):
                    result = event
        assert result is not None
        return result


def _event_writer(options: RunOptions) -> EventWriter:
    from toolwire.cli.output.transcript import JsonLines, Transcript

    if options.as_json:
        return JsonLines()
    return Transcript(colour=sys.stdout is not None and sys.stdout.isatty())


async def _open_model(options: RunOptions, stack: AsyncExitStack) -> Model:
    """Return the model of a name; `demo:` is the offline model, `demo:anthropic` on that wire."""
    from toolwire.agent.http_model import HttpModel

    model = HttpModel(
        options.model,
        base_url=options.base_url,
        stream=options.stream,
        native_tools=False if options.in_text else None,
    )
    stack.push_async_callback(model.close)
    return model
