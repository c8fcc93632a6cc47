"""`toolwire run`: an agent on the command line, with any model and any tools."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from toolwire.cli.framework.usage_error import CommandError, printable, read_input, said
from toolwire.cli.services.lazy_import import open_ledger, part, recorded, token, variable
from toolwire.cli.services.tool_sources import gather, loaded
from toolwire.errors import InputError

if TYPE_CHECKING:
    from toolwire.agent.events import Model, RunResult
    from toolwire.cli.output.transcript import Lines, Transcript
    from toolwire.tools.registry import Tools

AT_LEAST_ONE = click.IntRange(min=1)


@click.command("run")
@click.argument("question", required=False)
@click.option(
    "--model",
    "model_name",
    metavar="NAME",
    required=True,
    envvar="TOOLWIRE_MODEL",
    help=(
        "provider:model, as in anthropic:…; or URL#profile:model; or demo:, which needs no network."
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
@click.option("--base-url", metavar="URL", help="Another address of the provider.")
@click.option("--system", metavar="TEXT", help="What the model is told first.")
@click.option("--save", metavar="FILE", help="Keep the conversation there after every step.")
@click.option(
    "--resume",
    metavar="FILE",
    help="Go on with a conversation that was kept; calls that ran are not run again.",
)
@click.option(
    "--ledger",
    metavar="URL",
    help="Where calls are recorded. Default: beside the kept conversation, if there is one.",
)
@click.option(
    "--approve", is_flag=True, help="Ask before each call, on stderr; answers are lines of stdin."
)
@click.option(
    "--turns",
    type=AT_LEAST_ONE,
    default=50,
    show_default=True,
    help="So many answers of the model at most.",
)
@click.option(
    "--parallel",
    type=AT_LEAST_ONE,
    default=8,
    show_default=True,
    help="So many calls at once at most.",
)
@click.option(
    "--text",
    "in_text",
    is_flag=True,
    help="The model has no tools of its own: say everything in text.",
)
@click.option("--no-stream", is_flag=True, help="Ask for whole answers.")
@click.option(
    "--secret",
    "secrets",
    metavar="NAME",
    multiple=True,
    help="Tools may have this variable of the environment.",
)
@click.option(
    "--token",
    "tokens",
    metavar="ID=VARIABLE",
    multiple=True,
    help="Tools may have this token, from a variable of the environment.",
)
@click.option("--user", "user_id", metavar="ID", help="The user on whose behalf tools are called.")
@click.option(
    "--json", "as_json", is_flag=True, help="One line of JSON for everything that happens."
)
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
    """Ask a model that may use tools, and watch it.

    Keys come from the environment, as the provider's own tools want them. QUESTION - is read from
    stdin. With --resume and no question, whatever was under way is finished. `demo:anthropic` is
    the offline model by that wire.

    Each call has a letter, and so has its result. Exit codes: 0 the model is done, 1 it broke or a
    limit was reached, 2 misuse, 130 stopped with Ctrl-C.
    """
    if save and resume and save != resume:
        raise CommandError(
            "--save and --resume name two files; the conversation goes on where it is resumed"
        )
    if resume is not None and not Path(resume).is_file():
        raise CommandError(f"{resume}: no such file")
    if save is not None and resume is None and Path(save).exists():
        raise CommandError(f"{save}: it is already there; go on with --resume {save}")
    if question == "-" and approve:
        raise CommandError(
            "stdin has the answers for --approve; give the question on the command line"
        )
    if question == "-":
        question = read_input("-").decode("utf-8", "replace").strip()
    if not question and (resume is None or question is not None):
        raise CommandError("there is no question")
    kept = resume or save
    setup = _Setup(
        model_name,
        base_url,
        sources,
        ledger or (f"sqlite:///{kept}.calls.db" if kept else None),
        kept,
        system,
        turns,
        parallel,
        not no_stream,
        in_text,
        approve,
        as_json,
        {one: variable(one) for one in secrets},
        dict(token(one) for one in tokens),
        user_id,
    )
    try:
        with recorded(setup.ledger):
            over = asyncio.run(_ran(loaded(sources), setup, question, resumed=resume is not None))
    except KeyboardInterrupt:
        if kept:
            click.echo(f"stopped; go on with --resume {printable(kept)}", err=True)
        raise
    except InputError as error:
        raise CommandError(said(error)) from None
    ctx.exit(0 if over.phase == "done" else 1)


class _Setup(Struct, frozen=True):
    """What the command line says beside the question."""

    model: str
    base: str | None
    sources: tuple[str, ...]
    ledger: str | None
    kept: str | None
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


async def _ran(tools: Tools, setup: _Setup, question: str | None, *, resumed: bool) -> RunResult:
    talk, shown = part("toolwire.agent.events"), part("toolwire.cli.output.transcript")
    watcher: Lines | Transcript = (
        shown.Lines() if setup.as_json else shown.Transcript(colour=_colour())
    )
    async with AsyncExitStack() as stack:
        await gather(tools, setup.sources, stack)
        model = await _model(setup, stack)
        part("toolwire.execution.log_redaction").redact_all_logs()
        calls = await stack.enter_async_context(
            part("toolwire.execution.executor").ToolExecutor(open_ledger(setup.ledger))
        )
        agent = part("toolwire.agent.agent").Agent(
            model,
            [tools],
            executor=calls,
            system=setup.system,
            limits=talk.Limits(turns=setup.turns, parallel=setup.parallel),
            approve=(
                part("toolwire.cli.input.approval").Approval(watcher.line)
                if setup.approve
                else None
            ),
            store=part("toolwire.agent.session_store").FileStore(setup.kept)
            if setup.kept
            else None,
            secrets=setup.secrets,
            tokens=setup.tokens,
            user_id=setup.user_id,
        )
        if resumed:
            await agent.resume()
        over: RunResult | None = None
        async with aclosing(agent.watch(question)) as watched:
            async for seen in watched:
                watcher.take(seen)
                over = seen if isinstance(seen, talk.RunResult) else over
        assert over is not None
        return over


def _colour() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


async def _model(setup: _Setup, stack: AsyncExitStack) -> Model:
    """The model of a name; `demo:` is served on this machine, `demo:anthropic` by that wire."""
    http = part("toolwire.agent.http_model")
    native = False if setup.in_text else None
    made: Model = http.HttpModel(
        setup.model, base_url=setup.base, stream=setup.stream, native_tools=native
    )
    stack.push_async_callback(made.close)
    return made
