"""`toolwire tour`: a broken conversation and its problems, then a good one on three wires.

The public functions of the library compute everything that is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from toolwire.cli.output.call_threads import ASCII, UNICODE, ThreadGlyphs, draw_threads, letter_of
from toolwire.cli.output.console import PipeSafeConsole
from toolwire.cli.output.tour_conversations import BROKEN, WELL_FORMED
from toolwire.codec import Encoded, decode
from toolwire.conversation.json import JSON, Object, get, text_of
from toolwire.conversation.model import Conversation, real_losses
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Pair, Traceable
from toolwire.errors import pointer
from toolwire.profiles.table import profile
from toolwire.translate import translate
from toolwire.wires import wire

SOURCE = "openai-chat"
WIRES = (SOURCE, "anthropic", "gemini")
COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
MAX_WIDTH = 100
MAX_CELL = 32
NEXT_COMMANDS = """\
toolwire help translate
toolwire rules missing-result
toolwire wires --types"""


@click.command("tour")
def command() -> None:
    """Show in six steps what toolwire does.

    The tour starts with a broken conversation and its repair. It then shows a sound conversation on
    three wires: the thread from each call to its result, losses, the id map, and the round trip.
    """
    console = PipeSafeConsole(highlight=False)
    console.width = min(console.width, MAX_WIDTH)
    for number, (title, blocks) in enumerate(_steps(console), start=1):
        console.print(Rule(f"{number}. {title}", align="left"))
        for block in blocks:
            console.print(block, soft_wrap=isinstance(block, Text))
        console.print()


def _steps(console: Console) -> Iterator[tuple[str, list[Text | Table]]]:
    glyphs = UNICODE if console.encoding.lower().startswith("utf") else ASCII
    broken = decode(BROKEN, SOURCE)
    intro = Text(f"A history on {SOURCE}. A letter is a call; a line connects it to its result.\n")
    yield "A conversation that went wrong", [intro, _draw(broken, glyphs)]
    intro = Text("What Conversation.pairs() finds, turn by turn:\n")
    yield "What is wrong with it", [intro, _describe_pairs(broken)]
    for name in WIRES:
        yield f"A good conversation on {name}", _show_wire(name, glyphs)
    yield "Your turn", [Text(NEXT_COMMANDS)]


# --- drawing --------------------------------------------------------------------------------------


def _colour(thread: int | None) -> str:
    return "" if thread is None else COLOURS[thread % len(COLOURS)]


def _draw(conversation: Conversation, glyphs: ThreadGlyphs) -> Table:
    """Return the conversation with its threads."""
    grid = Table.grid(padding=(0, 1))
    for column in range(5):
        grid.add_column(
            no_wrap=True,
            overflow="ellipsis" if glyphs is UNICODE else "crop",
            max_width=MAX_CELL if column >= 3 else None,
        )
    for line in draw_threads(conversation, glyphs):
        colour = _colour(line.thread)
        cells = (
            (line.gutter, colour),
            (line.letter, f"bold {colour}"),
            (line.role, "dim"),
            (line.text, ""),
            (line.id, colour),
        )
        grid.add_row(*(Text(text, style=style.strip()) for text, style in cells))
    return grid


# --- the broken conversation ----------------------------------------------------------------------


def _describe_pairs(conversation: Conversation) -> Table:
    """Return a row for each pair: its letter, its pointer, and what is special about it."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    order = PartMap((result, n) for n, result in enumerate(conversation.results()))
    latest = -1
    for thread, pair in enumerate(conversation.pairs()):
        position = latest if pair.result is None else order.get(pair.result, latest)
        part: Traceable | None = pair.call or pair.result
        text = _describe_pair(pair, out_of_order=0 <= position < latest)
        latest = max(latest, position)
        grid.add_row(
            Text(letter_of(thread), style=f"bold {_colour(thread)}"),
            Text(pointer(part.path) if part is not None else "", style="dim"),
            Text(text),
        )
    return grid


def _describe_pair(pair: Pair, *, out_of_order: bool) -> str:
    call, result = pair.call, pair.result
    if call is None:
        return f"Orphan: no call has the id {result.call_id} of this result." if result else ""
    facts: list[str] = []
    if call.origin == "minted":
        facts.append(f"The call has no id. It gets {call.id}, the same in every process.")
    rule = profile(SOURCE).id_rule
    if not rule.fits(call.id):
        facts.append(f"Its id has {len(call.id)} characters; the safe limit is {rule.longest}.")
    if result is None:
        facts.append("The call has no result yet.")
    elif pair.how != "id":
        facts.append(f"The result has no call id. Only one call fits by {pair.how}.")
    elif out_of_order:
        facts.append("Its result comes before that of the call above; by order they would swap.")
    return " ".join(facts) or "Fine: the result has the id of the call."


# --- the good conversation ------------------------------------------------------------------------


def _show_wire(name: str, glyphs: ThreadGlyphs) -> list[Text | Table]:
    """Show the conversation on one wire: threads, one pair as JSON, losses, ids, round trip."""
    encoded = translate(WELL_FORMED, SOURCE, name)
    conversation = decode(encoded.json(), name)
    blocks: list[Text | Table] = [
        Text(f"{wire(name).title}\n", style="bold"),
        _draw(conversation, glyphs),
        Text(),
    ]
    first = conversation.pairs()[0]
    for part in (first.call, first.result):
        if part is not None:
            blocks.append(Text(text_of(_json_of(encoded.body, part)), style=_colour(0)))
    blocks.append(Text())
    if name == SOURCE:
        blocks.append(Text("This is the source: there are no losses, and no id changes."))
    else:
        blocks += _report(encoded, name)
    return blocks


def _json_of(body: JSON, part: Traceable) -> JSON:
    value = get(body, part.path)
    return value if isinstance(value, dict) else None


def _report(encoded: Encoded, target: str) -> list[Text | Table]:
    losses = [Text(f"lost  {loss}") for loss in real_losses(encoded.losses)]
    ids = [Text(f"ids   {new} replaces {old}") for new, old in encoded.ids.ids.items()]
    back = translate(encoded.json(), target, SOURCE, ids=encoded.ids)
    same = _pair_contents(decode(back.json(), SOURCE)) == _pair_contents(
        decode(WELL_FORMED, SOURCE)
    )
    result = "the same" if same else "NOT the same"
    round_trip = f"back  {target} -> {SOURCE} with these ids: every call and result is {result}"
    return [
        *(losses or [Text("lost  nothing")]),
        *(ids or [Text("ids   all unchanged")]),
        Text(round_trip, style="green" if same else "bold red"),
    ]


def _pair_contents(conversation: Conversation) -> list[tuple[Object, JSON]]:
    """Return the input and output of each pair, which a round trip must restore."""
    return [
        (_call_content(pair.call), pair.result.text if pair.result else None)
        for pair in conversation.pairs()
        if pair.call
    ]


def _call_content(call: Call) -> Object:
    return {"id": call.id, "name": call.name, "input": call.input}
