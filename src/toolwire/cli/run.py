"""`toolwire run`: an agent on the command line, with any model and any tools."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolwire.cli._misuse import Misuse, said
from toolwire.cli._sources import gathered
from toolwire.cli._toolbox import open_ledger, part
from toolwire.errors import WireError

if TYPE_CHECKING:
    from toolwire.agent.talk import Model, Over, Verdict
    from toolwire.parts import Call
    from toolwire.tools.runnable import Runnable


@click.command("run")
@click.argument("question", required=False)
@click.option("--model", "model_name", metavar="NAME", required=True, envvar="TOOLWIRE_MODEL",
              help="provider:model, as in anthropic:…; or URL#profile:model; or demo:, which needs no network.")  # fmt: skip
@click.option("--tools", "sources", metavar="SOURCE", multiple=True,
              help="A Python file or package, an OXP server (http://…), an MCP server (mcp+http://…, mcp:COMMAND).")  # fmt: skip
@click.option("--base-url", metavar="URL", help="Another address of the provider.")
@click.option("--system", metavar="TEXT", help="What the model is told first.")
@click.option("--save", metavar="FILE", help="Keep the conversation there after every step.")
@click.option("--resume", metavar="FILE", help="Go on with a conversation that was kept; calls that ran are not run again.")
@click.option("--ledger", metavar="URL", help="Where calls are recorded. Default: beside the kept conversation, if there is one.")
@click.option("--approve", is_flag=True, help="Ask before each call.")
@click.option("--turns", default=50, show_default=True, help="So many answers of the model at most.")
@click.option("--parallel", default=8, show_default=True, help="So many calls at once at most.")
@click.option("--text", "in_text", is_flag=True, help="The model has no tools of its own: say everything in text.")
@click.option("--no-stream", is_flag=True, help="Ask for whole answers.")
@click.option("--secret", "secrets", metavar="NAME", multiple=True, help="Tools may have this variable of the environment.")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON for everything that happens.")
@click.pass_context
def verb(ctx: click.Context, question: str | None, model_name: str, sources: tuple[str, ...], base_url: str | None,
         system: str | None, save: str | None, resume: str | None, ledger: str | None, approve: bool, turns: int, parallel: int,
         in_text: bool, no_stream: bool, secrets: tuple[str, ...], as_json: bool) -> None:  # fmt: skip
    """Ask a model that may use tools, and watch it.

    Keys come from the environment, as the provider's own tools want them. QUESTION - is read from stdin. With --resume and no
    question, whatever was under way is finished.

    Exit codes: 0 the model is done, 1 it broke or a limit was reached, 2 misuse, 130 stopped with Ctrl-C.
    """
    if save and resume and save != resume:
        raise Misuse("--save and --resume name two files; the conversation goes on where it is resumed")
    kept = resume or save
    if question is None and resume is None:
        raise Misuse("there is no question")
    if resume is not None and not Path(resume).exists():
        raise Misuse(f"{resume}: no such file")
    if save is not None and resume is None and Path(save).exists():
        raise Misuse(f"{save}: it is already there; go on with --resume {save}")
    if question == "-":
        question = sys.stdin.read().strip()
    recorded = ledger or (f"sqlite:///{kept}.calls.db" if kept else None)
    held = {one: os.environ[one] for one in secrets if one in os.environ}

    async def ran() -> Over:
        async with AsyncExitStack() as stack:
            tools = await gathered(sources, stack)
            model = await _model(model_name, base_url, stack, stream=not no_stream, in_text=in_text)
            calls = await stack.enter_async_context(part("toolwire.io.calls").Calls(open_ledger(recorded)))
            talk, shown = part("toolwire.agent.talk"), part("toolwire.cli._transcript")
            agent = part("toolwire.io.agent").Agent(
                model, [tools], calls=calls, system=system, limits=talk.Limits(turns=turns, parallel=parallel),
                approve=_ask if approve else None, store=part("toolwire.io.threads").FileStore(kept) if kept else None,
                secrets=held,
            )  # fmt: skip
            if resume is not None:
                await agent.resume()
            watcher = shown.Lines() if as_json else shown.Transcript(colour=sys.stdout.isatty())
            over: Over | None = None
            async for seen in agent.watch(question):
                watcher.take(seen)
                over = seen if isinstance(seen, talk.Over) else over
            assert over is not None
            return over

    try:
        over = asyncio.run(ran())
    except KeyboardInterrupt:
        if kept:
            click.echo(f"\nstopped; go on with: toolwire run --model {model_name} --resume {kept}", err=True)
        raise
    except WireError as error:
        raise Misuse(said(error)) from None
    ctx.exit(0 if over.phase == "done" else 1)


async def _model(name: str, base: str | None, stack: AsyncExitStack, *, stream: bool, in_text: bool) -> Model:
    """The model of a name; `demo:` is served on this machine, `demo:anthropic` by that wire."""
    http = part("toolwire.io.model")
    if name.partition(":")[0] == "demo":
        spoken = name.partition(":")[2] or "openai-chat"
        base, name = await stack.enter_async_context(part("toolwire.server.demo").served(spoken))
        made: Model = http.HttpModel(name, base=base, key="demo", stream=stream, native=False if in_text else None)
    else:
        made = http.HttpModel(name, base=base, stream=stream, native=False if in_text else None)
    stack.push_async_callback(made.close)
    return made


async def _ask(call: Call, tool: Runnable) -> Verdict:
    """Ask whoever sits at the terminal."""
    talk = part("toolwire.agent.talk")
    question = f"run {tool.id} with {call.arguments}? [y]es, [n]o, [e]dit"
    answer = await asyncio.to_thread(click.prompt, question, default="y", show_default=False, err=True)
    word = str(answer).strip().lower()[:1]
    if word == "e":
        text = await asyncio.to_thread(click.prompt, "arguments", default=call.arguments, err=True)
        edited: Verdict = talk.Edit(str(text))
        return edited
    allowed: Verdict = talk.Allow() if word == "y" else talk.Deny()
    return allowed
