"""`toolwire tour`: a broken conversation and what is wrong with it, then a healthy one on three
wires.

Everything shown is computed while it is shown, by the public functions of the library. Nothing
waits for a key.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from toolwire.cli.output.call_threads import PLAIN, ROUND, Marks, letter, threads
from toolwire.cli.output.console import Paper
from toolwire.cli.output.tour_conversations import BROKEN, HEALTHY
from toolwire.codec import Encoded, decode
from toolwire.conversation.json import JSON, Object, get, text_of
from toolwire.conversation.model import Conversation
from toolwire.conversation.parts import Call, Pair, Traceable
from toolwire.errors import pointer
from toolwire.profiles.table import profile
from toolwire.translate import translate
from toolwire.wires import wire

HOME = "openai-chat"
STOPS = (HOME, "anthropic", "gemini")
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
WIDEST = 100


@click.command("tour")
def command() -> None:
    """Show in six steps what toolwire is for.

    A broken conversation and what is wrong with it; then a healthy one on three wires, with the
    thread from each call to its result, what was lost, the id map, and the way back.
    """
    console = Paper(highlight=False)
    if console.width > WIDEST:
        console.width = WIDEST
    for number, (title, shown) in enumerate(_steps(console), start=1):
        console.print(Rule(f"{number}. {title}", align="left"))
        for one in shown:
            console.print(one, soft_wrap=isinstance(one, Text))
        console.print()


def _steps(console: Console) -> Iterator[tuple[str, list[Text | Table]]]:
    marks = ROUND if console.encoding.lower().startswith("utf") else PLAIN
    broken = decode(BROKEN, HOME)
    yield (
        "A conversation that went wrong",
        [
            Text(f"A history on {HOME}. A letter is a call; its thread leads to its result.\n"),
            *_drawing(broken, marks),
        ],
    )
    yield (
        "What is wrong with it",
        [
            Text("What Conversation.pairs() finds, turn by turn with the open calls in hand:\n"),
            _facts(broken),
        ],
    )
    for stop in STOPS:
        yield f"A healthy conversation on {stop}", _stop(stop, marks)
    yield "Your turn", [Text(NEXT)]


NEXT = """\
toolwire translate history.json --to anthropic --save-ids ids.json
toolwire translate answer.json --kind response --to openai-chat --ids ids.json
toolwire wires --types"""


# --- drawing --------------------------------------------------------------------------------------


def _colour(thread: int | None) -> str:
    return "" if thread is None else COLOURS[thread % len(COLOURS)]


def _drawing(conversation: Conversation, marks: Marks) -> list[Text | Table]:
    """The conversation with its threads."""
    grid = Table.grid(padding=(0, 1))
    for column in range(5):
        grid.add_column(
            no_wrap=True,
            overflow="ellipsis" if marks is ROUND else "crop",
            max_width=32 if column >= 3 else None,
        )
    for line in threads(conversation, marks):
        colour = _colour(line.thread)
        cells = (
            (line.gutter, colour),
            (line.letter, f"bold {colour}"),
            (line.who, "dim"),
            (line.words, ""),
            (line.id, colour),
        )
        grid.add_row(*(Text(words, style=style.strip()) for words, style in cells))
    return [grid]


# --- the broken one -------------------------------------------------------------------------------


def _facts(conversation: Conversation) -> Table:
    """One row for each pair: where it stands, and what there is to say about it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    order = {id(result): n for n, result in enumerate(conversation.results())}
    latest = -1
    for thread, pair in enumerate(conversation.pairs()):
        place = order.get(id(pair.result), latest)
        part: Traceable | None = pair.call or pair.result
        where = pointer(part.path) if part is not None else ""
        words = _fact(pair, early=0 <= place < latest)
        latest = max(latest, place)
        grid.add_row(
            Text(letter(thread), style=f"bold {_colour(thread)}"),
            Text(where, style="dim"),
            Text(words),
        )
    return grid


def _fact(pair: Pair, *, early: bool) -> str:
    """What there is to say about a call and its result, in words."""
    call, result = pair.call, pair.result
    if call is None:
        return (
            f"An orphan: a result for {result.call_id}, and no call has that id." if result else ""
        )
    said: list[str] = []
    if call.origin == "minted":
        said.append(f"The call came without an id. It gets {call.id}, the same in every process.")
    rule = profile(HOME).id_rule
    if not rule.fits(call.id):
        said.append(f"Its id has {len(call.id)} characters; the safe limit here is {rule.longest}.")
    if result is None:
        said.append("Nobody has answered this call yet.")
    elif pair.how != "id":
        said.append(
            f"The result names no call; it was found by {pair.how}, for only one call fits."
        )
    elif early:
        said.append(
            "Its result came before that of the call above; by position, the two would be swapped."
        )
    return " ".join(said) or "Fine: the result names the call."


# --- the healthy one ------------------------------------------------------------------------------


def _stop(stop: str, marks: Marks) -> list[Text | Table]:
    """One wire of the tour: the threads, a call and its result as JSON, losses, the id map, and the
    way back."""
    made = translate(HEALTHY, HOME, stop)
    conversation = decode(made.json(), stop)
    shown: list[Text | Table] = [
        Text(f"{wire(stop).title}\n", style="bold"),
        *_drawing(conversation, marks),
        Text(),
    ]
    first = conversation.pairs()[0]
    for part in (first.call, first.result):
        if part is not None:
            shown.append(Text(text_of(_block(made.body, part)), style=_colour(0)))
    shown.append(Text())
    if stop == HOME:
        shown.append(Text("This is where it comes from: nothing to lose, and no id to change."))
    else:
        shown += _report(made, stop)
    return shown


def _block(body: JSON, part: Traceable) -> JSON:
    found = get(body, part.path)
    return found if isinstance(found, dict) else None


def _report(made: Encoded, stop: str) -> list[Text | Table]:
    lost = [Text(f"lost  {loss}") for loss in made.losses]
    mapped = [Text(f"ids   {sent} stands for {before}") for sent, before in made.ids.ids.items()]
    back = translate(made.json(), stop, HOME, ids=made.ids)
    same = _facts_of(decode(back.json(), HOME)) == _facts_of(decode(HEALTHY, HOME))
    home = (
        f"back  {stop} -> {HOME} with these ids: every call and result is"
        f" {'the same' if same else 'NOT the same'}"
    )
    return [
        *(lost or [Text("lost  nothing")]),
        *(mapped or [Text("ids   all go as they are")]),
        Text(home, style="green" if same else "bold red"),
    ]


def _facts_of(conversation: Conversation) -> list[tuple[Object, JSON]]:
    """What must be the same after a trip there and back."""
    return [
        (_call_facts(pair.call), pair.result.text if pair.result else None)
        for pair in conversation.pairs()
        if pair.call
    ]


def _call_facts(call: Call) -> Object:
    return {"id": call.id, "name": call.name, "input": call.input}
