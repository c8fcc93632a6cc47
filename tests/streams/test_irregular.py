"""Irregular streams of chat chunks, as servers send them: the calls are the same in all of them.

A corpus as data: each row is a stream and the calls that it contains. It is tested three times: by
the neutral events, by the folded body, and by what every other streaming wire gets. Rows whose names
start alike are variants of one irregularity. Comments in the table name the sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from cases import DEEP, streaming
from msgspec import Struct
from rows import rows

from toolwire import Call, Conversation, Text, decode
from toolwire.conversation.ids import is_minted
from toolwire.conversation.json import JSON
from toolwire.streaming.events import (
    Event,
    Finish,
    PartComplete,
    PartDelta,
    PartEnd,
    PartStart,
    StreamError,
)
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire
from toolwire.wires.families.chat.argument_text import ArgumentText

SOURCE = "openai-chat"
TARGETS = [name for name in streaming() if name != SOURCE]
ABSENT = object()
"""An absent key."""
ANY = "<any>"
"""Any id: the id of the wire came too late to wait for."""


def f(
    index: object = ABSENT,
    id: object = ABSENT,
    name: object = ABSENT,
    args: object = ABSENT,
    *,
    type: object = ABSENT,
    **more: JSON,
) -> dict[str, JSON]:
    """An entry of `tool_calls`."""
    function = {
        key: value for key, value in (("name", name), ("arguments", args)) if value is not ABSENT
    }
    entry = {"index": index, "id": id, "type": type, "function": function or ABSENT, **more}
    return {key: value for key, value in entry.items() if value is not ABSENT}  # type: ignore[misc]


def c(
    *calls: dict[str, JSON],
    finish: JSON = None,
    choice: int = 0,
    id: str = "chatcmpl-1",
    **delta: JSON,
) -> dict[str, JSON]:
    """A chunk with these entries in one delta."""
    content: dict[str, JSON] = {**delta, "tool_calls": list(calls)} if calls else dict(delta)
    candidate: JSON = {"index": choice, "delta": content, "finish_reason": finish}
    return {
        "id": id,
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [candidate],
    }


def with_usage(chunk: dict[str, JSON], tokens: int) -> dict[str, JSON]:
    """A chunk with the tokens so far."""
    return {
        **chunk,
        "usage": {"prompt_tokens": 3, "completion_tokens": tokens, "total_tokens": 3 + tokens},
    }


class Row(Struct, frozen=True, eq=False):
    """A stream and its content. An id of None has to be minted; an input that is a text was cut off."""

    name: str
    chunks: tuple[JSON, ...]
    calls: tuple[tuple[str | None, str, JSON], ...]
    text: str = ""
    stop: str = "tool"
    broken: bool = False
    """True if the stream ends in an error."""
    shuffled: bool = False
    """True if calls open in another order than that of their indexes, which is the order of the
    body."""
    others: tuple[tuple[str | None, str, JSON], ...] = ()
    """Calls of the other candidates."""
    raw: bytes = b""
    """Bytes after the last chunk."""
    done: bool = True
    usage: tuple[int, int] | None = None

    def __str__(self) -> str:
        return self.name


S = "web_search"
X: JSON = {"q": "x"}
Y: JSON = {"q": "y"}
XT, YT = '{"q":"x"}', '{"q":"y"}'
X1, X2 = '{"q":', '"x"}'
Y1, Y2 = '{"q":', '"y"}'
END = c(finish="tool_calls")
ONE = (("c0", S, X),)
TWO = (("c0", S, X), ("c1", S, Y))
MINTED = ((None, S, X),)
MINTED2 = ((None, S, X), (None, S, Y))
LONG = "call_1__thought__" + "Ab/+9=" * 60


def row(
    name: str, *chunks: JSON, calls: Iterable[tuple[str | None, str, JSON]] = ONE, **more: object
) -> Row:
    """A row whose stream ends regularly."""
    return Row(name, (*chunks, END), tuple(calls), **more)  # type: ignore[arg-type]


def unfinished(
    name: str, *chunks: JSON, calls: Iterable[tuple[str | None, str, JSON]] = ONE, **more: object
) -> Row:
    """A row whose chunks are the whole stream."""
    return Row(name, chunks, tuple(calls), **more)  # type: ignore[arg-type]


CORPUS: tuple[Row, ...] = (
    # --- as it should be
    row(
        "regular",
        c(role="assistant", content=None),
        c(f(0, "c0", S, "", type="function")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
    ),
    row(
        "regular-parallel",
        c(f(0, "c0", S, "")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(f(1, "c1", S, "")),
        c(f(1, args=Y1)),
        c(f(1, args=Y2)),
        calls=TWO,
    ),
    row(
        "regular-interleaved",
        c(f(0, "c0", S, "")),
        c(f(1, "c1", S, "")),
        c(f(1, args=Y1)),
        c(f(0, args=X1)),
        c(f(1, args=Y2)),
        c(f(0, args=X2)),
        calls=TWO,
    ),
    row(
        "regular-interleaved-in-one-chunk",
        c(f(0, "c0", S, ""), f(1, "c1", S, "")),
        c(f(0, args=X1), f(1, args=Y1)),
        c(f(1, args=Y2), f(0, args=X2)),
        calls=TWO,
    ),
    row(
        "regular-text-before",
        c(content="Let me "),
        c(content="look."),
        c(f(0, "c0", S, XT)),
        text="Let me look.",
    ),
    row(
        "regular-text-and-call-in-one-chunk",
        c(f(0, "c0", S, ""), content="Look"),
        c(f(0, args=XT), content="ing."),
        text="Looking.",
    ),
    row("regular-text-after", c(f(0, "c0", S, XT)), c(content="Done."), text="Done."),
    row(
        "regular-letter-by-letter",
        c(f(0, "c0", S, "")),
        *(c(f(0, args=letter)) for letter in '{"q":"x","n":[1,{"q":"x"}]}'),
        calls=[("c0", S, {"q": "x", "n": [1, {"q": "x"}]})],
    ),
    row(
        "regular-scalars-that-grow",
        c(f(0, "c0", S, "")),
        c(f(0, args='{"n":1')),
        c(f(0, args="1")),
        c(f(0, args="1}")),
        calls=[("c0", S, {"n": 111})],
    ),
    # --- traps: what looks irregular and is not
    row(
        "trap-equal-fragments",
        c(f(0, "c0", S, '{"q":"')),
        *(c(f(0, args="ha")) for _ in range(3)),
        c(f(0, args='"}')),
        calls=[("c0", S, {"q": "hahaha"})],
    ),
    row(
        "trap-nested-object-looks-cumulative",
        c(f(0, "c0", S, '{"q":')),
        c(f(0, args='{"q":1}')),
        c(f(0, args="}")),
        calls=[("c0", S, {"q": {"q": 1}})],
    ),
    row(
        "trap-nested-object-looks-cumulative-longer",
        c(f(0, "c0", S, '{"a":')),
        c(f(0, args='{"a":')),
        c(f(0, args='{"a":1}}')),
        c(f(0, args="}")),
        calls=[("c0", S, {"a": {"a": {"a": 1}}})],
    ),
    row(
        "trap-objects-in-a-list",
        c(f(0, "c0", S, '{"l":[')),
        c(f(0, args="{}")),
        c(f(0, args=",")),
        c(f(0, args="{}")),
        c(f(0, args=",{}]}")),
        calls=[("c0", S, {"l": [{}, {}, {}]})],
    ),
    row(
        "trap-equal-objects-in-a-list",
        c(f(0, "c0", S, '{"l":[')),
        c(f(0, args=XT)),
        c(f(0, args=",")),
        c(f(0, args=XT)),
        c(f(0, args="]}")),
        calls=[("c0", S, {"l": [X, X]})],
    ),
    row(
        "trap-json-in-a-string",
        c(f(0, "c0", S, '{"q":"')),
        c(f(0, args='{\\"q\\":')),
        c(f(0, args="{}")),
        c(f(0, args='}"}')),
        calls=[("c0", S, {"q": '{"q":{}}'})],
    ),
    row("trap-white-space-around", c(f(0, "c0", S, " \n")), c(f(0, args=XT)), c(f(0, args=" \n"))),
    row(
        "trap-escape-cut-in-two",
        c(f(0, "c0", S, '{"q":"\\')),
        c(f(0, args="u00")),
        c(f(0, args='e9"}')),
        calls=[("c0", S, {"q": "é"})],
    ),
    row(
        "trap-a-number-is-the-prefix-of-the-next",
        c(f(0, "c0", S, '{"n":')),
        c(f(0, args="1")),
        c(f(0, args="12")),
        c(f(0, args="}")),
        calls=[("c0", S, {"n": 112})],
    ),
    # --- the id
    row("id-repeated", c(f(0, "c0", S, "")), c(f(0, "c0", args=X1)), c(f(0, "c0", args=X2))),
    row(
        "id-repeated-parallel",
        c(f(0, "c0", S, "")),
        c(f(1, "c1", S, "")),
        c(f(0, "c0", args=X1)),
        c(f(1, "c1", args=Y1)),
        c(f(0, "c0", args=X2)),
        c(f(1, "c1", args=Y2)),
        calls=TWO,
    ),
    row("id-and-name-repeated", c(f(0, "c0", S, "")), c(f(0, "c0", S, X1)), c(f(0, "c0", S, X2))),
    row(
        "id-and-name-repeated-parallel",
        c(f(0, "c0", S, X1)),
        c(f(0, "c0", S, X2)),
        c(f(1, "c1", S, Y1)),
        c(f(1, "c1", S, Y2)),
        calls=TWO,
    ),
    row(
        "id-and-name-repeated-on-an-empty-last-delta",
        c(f(0, "c0", S, "")),
        c(f(0, "c0", S, XT)),
        c(f(0, "c0", S, "")),
    ),
    row("id-blank-later", c(f(0, "c0", S, "")), c(f(0, "", args=X1)), c(f(0, "", args=X2))),
    row("id-and-name-blank-later", c(f(0, "c0", S, "")), c(f(0, "", "", X1)), c(f(0, "", "", X2))),
    row(
        "id-and-name-null-later",
        c(f(0, "c0", S, None)),
        c(f(0, None, None, X1)),
        c(f(0, None, None, X2)),
    ),
    row(
        "id-the-word-null-later",
        c(f(0, "c0", S, "")),
        c(f(0, "null", args=X1)),
        c(f(0, "None", args=X2)),
    ),
    row(
        "id-blank-later-parallel",
        c(f(0, "c0", S, "")),
        c(f(0, "", "", XT)),
        c(f(1, "c1", S, "")),
        c(f(1, "", "", YT)),
        calls=TWO,
    ),
    row("id-differs-later", c(f(0, "c0", S, "")), c(f(0, "zz", args=X1)), c(f(0, "zz", args=X2))),
    row(
        "id-differs-on-every-delta",
        c(f(0, "c0", S, "")),
        c(f(0, "z1", args=X1)),
        c(f(0, "z2", "", X2)),
        c(f(0, "z3", args="")),
    ),
    row(
        "id-differs-later-parallel",
        c(f(0, "c0", S, "")),
        c(f(0, "z1", args=XT)),
        c(f(1, "c1", S, "")),
        c(f(1, "z2", args=YT)),
        calls=TWO,
    ),
    row(
        "id-differs-later-interleaved",
        c(f(0, "c0", S, "")),
        c(f(1, "c1", S, "")),
        c(f(0, "z1", args=X1)),
        c(f(1, "z2", args=Y1)),
        c(f(0, "z3", args=X2)),
        c(f(1, "z4", args=Y2)),
        calls=TWO,
    ),
    row("id-missing", c(f(0, name=S, args="")), c(f(0, args=X1)), c(f(0, args=X2)), calls=MINTED),
    row(
        "id-missing-parallel",
        c(f(0, name=S, args="")),
        c(f(0, args=XT)),
        c(f(1, name=S, args="")),
        c(f(1, args=YT)),
        calls=MINTED2,
    ),
    row(
        "id-missing-interleaved",
        c(f(0, name=S, args="")),
        c(f(1, name=S, args="")),
        c(f(1, args=YT)),
        c(f(0, args=XT)),
        calls=MINTED2,
    ),
    row(
        "id-missing-equal-calls",
        c(f(0, name=S, args=XT)),
        c(f(1, name=S, args=XT)),
        calls=[*MINTED, *MINTED],
    ),
    row(
        "id-missing-of-one-of-two",
        c(f(0, name=S, args=XT)),
        c(f(1, "c1", S, YT)),
        calls=[(None, S, X), ("c1", S, Y)],
    ),
    row(
        "id-missing-of-the-second",
        c(f(0, "c0", S, XT)),
        c(f(1, name=S, args=YT)),
        calls=[("c0", S, X), (None, S, Y)],
    ),
    row("id-blank-at-the-start", c(f(0, "", S, "")), c(f(0, "", args=XT)), calls=MINTED),
    row("id-blank-at-the-start-parallel", c(f(0, "", S, XT)), c(f(1, "", S, YT)), calls=MINTED2),
    row("id-white-space", c(f(0, "  ", S, XT)), calls=MINTED),
    row("id-null", c(f(0, None, S, XT)), calls=MINTED),
    row("id-a-number", c(f(0, 7, S, XT)), calls=[(ANY, S, X)]),
    row("id-late", c(f(0, name=S, args="")), c(f(0, "c0")), c(f(0, args=XT))),
    row("id-late-with-arguments", c(f(0, name=S)), c(f(0, "c0", args=X1)), c(f(0, args=X2))),
    row("id-late-after-arguments", c(f(0, name=S, args=X1)), c(f(0, "c0", args=X2))),
    row("id-late-after-a-blank-one", c(f(0, "", S, "")), c(f(0, "c0", args=XT))),
    row("id-late-after-the-word-null", c(f(0, "null", S, "")), c(f(0, "c0", args=XT))),
    row(
        "id-late-parallel",
        c(f(0, name=S, args="")),
        c(f(0, "c0", args=XT)),
        c(f(1, name=S, args="")),
        c(f(1, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "id-late-interleaved",
        c(f(0, name=S, args=""), f(1, name=S, args="")),
        c(f(0, "c0", args=XT), f(1, "c1", args=YT)),
        calls=TWO,
    ),
    row("id-late-with-the-name-again", c(f(0, name=S, args="")), c(f(0, "c0", S, XT))),
    row(
        "id-too-late",
        c(f(0, name=S, args="")),
        c(f(0, args=X1)),
        c(f(0, "c0", args=X2)),
        calls=[(ANY, S, X)],
    ),
    row(
        "id-much-too-late",
        c(f(0, name=S, args="")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(f(0, "c0")),
        calls=[(ANY, S, X)],
    ),
    row("id-before-the-name", c(f(0, "c0")), c(f(0, name=S, args=XT))),
    row(
        "id-of-two-calls-the-same",
        c(f(0, "call", S, XT)),
        c(f(1, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-fragments",
        c(f(0, "call", S, "")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(f(1, "call", S, "")),
        c(f(1, args=Y1)),
        c(f(1, args=Y2)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-interleaved",
        c(f(0, "call", S, ""), f(1, "call", S, "")),
        c(f(0, "call", args=XT)),
        c(f(1, "call", args=YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same",
        c(f(0, "call", S, XT)),
        c(f(0, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same-other-tool",
        c(f(0, "call", S, XT)),
        c(f(0, "call", "lookup", YT)),
        calls=[("call", S, X), (None, "lookup", Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same-fragments",
        c(f(0, "call", S, "")),
        c(f(0, args=XT)),
        c(f(0, "call", S, "")),
        c(f(0, args=YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-no-index",
        c(f(ABSENT, "call", S, XT)),
        c(f(ABSENT, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-word-null", c(f(0, "null", S, XT), f(0, "null", S, YT)), calls=MINTED2
    ),
    row(
        "id-of-two-calls-the-word-null-indexed",
        c(f(0, "null", S, XT)),
        c(f(1, "null", S, YT)),
        calls=MINTED2,
    ),
    row("id-long-and-strange", c(f(0, LONG, S, XT)), calls=[(LONG, S, X)]),
    row(
        "id-long-and-strange-repeated",
        c(f(0, LONG, S, "")),
        c(f(0, LONG, args=XT)),
        calls=[(LONG, S, X)],
    ),
    row(
        "id-restarting-each-turn",
        c(f(0, "functions.web_search:0", S, XT)),
        c(f(1, "functions.web_search:1", S, YT)),
        calls=[("functions.web_search:0", S, X), ("functions.web_search:1", S, Y)],
    ),
    # --- the index
    row("index-missing-whole", c(f(ABSENT, "c0", S, XT)), c(f(ABSENT, "c1", S, YT)), calls=TWO),
    row(
        "index-missing-whole-in-one-chunk",
        c(f(ABSENT, "c0", S, XT), f(ABSENT, "c1", S, YT)),
        calls=TWO,
    ),
    row(
        "index-missing-fragments",
        c(f(ABSENT, "c0", S, "")),
        c(f(args=X1)),
        c(f(args=X2)),
        c(f(ABSENT, "c1", S, "")),
        c(f(args=Y1)),
        c(f(args=Y2)),
        calls=TWO,
    ),
    row(
        "index-missing-fragments-with-ids",
        c(f(ABSENT, "c0", S, "")),
        c(f(ABSENT, "c0", args=X1)),
        c(f(ABSENT, "c0", args=X2)),
        c(f(ABSENT, "c1", S, "")),
        c(f(ABSENT, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "index-missing-interleaved-with-ids",
        c(f(ABSENT, "c0", S, "")),
        c(f(ABSENT, "c1", S, "")),
        c(f(ABSENT, "c0", args=X1)),
        c(f(ABSENT, "c1", args=Y1)),
        c(f(ABSENT, "c0", args=X2)),
        c(f(ABSENT, "c1", args=Y2)),
        calls=TWO,
    ),
    row("index-missing-no-id", c(f(name=S, args=XT)), c(f(name=S, args=YT)), calls=MINTED2),
    row(
        "index-missing-no-id-in-one-chunk", c(f(name=S, args=XT), f(name=S, args=YT)), calls=MINTED2
    ),
    row(
        "index-missing-no-id-fragments",
        c(f(name=S, args="")),
        c(f(args=X1)),
        c(f(args=X2)),
        c(f(name=S, args="")),
        c(f(args=YT)),
        calls=MINTED2,
    ),
    row(
        "index-missing-no-id-other-tools",
        c(f(name=S, args=XT)),
        c(f(name="lookup", args=YT)),
        calls=[(None, S, X), (None, "lookup", Y)],
    ),
    row("index-missing-later", c(f(0, "c0", S, "")), c(f(args=X1)), c(f(args=X2))),
    row("index-null-whole", c(f(None, "c0", S, XT), f(None, "c1", S, YT)), calls=TWO),
    row(
        "index-null-fragments",
        c(f(None, "c0", S, "")),
        c(f(None, args=XT)),
        c(f(None, "c1", S, "")),
        c(f(None, args=YT)),
        calls=TWO,
    ),
    row("index-null-no-id", c(f(None, None, S, XT)), c(f(None, None, S, YT)), calls=MINTED2),
    row("index-zero-whole", c(f(0, "c0", S, XT)), c(f(0, "c1", S, YT)), calls=TWO),
    row("index-zero-whole-in-one-chunk", c(f(0, "c0", S, XT), f(0, "c1", S, YT)), calls=TWO),
    row(
        "index-zero-equal-calls",
        c(f(0, "c0", S, XT)),
        c(f(0, "c1", S, XT)),
        calls=[("c0", S, X), ("c1", S, X)],
    ),
    row(
        "index-zero-fragments",
        c(f(0, "c0", S, "")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(f(0, "c1", S, "")),
        c(f(0, args=Y1)),
        c(f(0, args=Y2)),
        calls=TWO,
    ),
    row(
        "index-zero-fragments-ids-repeated",
        c(f(0, "c0", S, "")),
        c(f(0, "c0", args=XT)),
        c(f(0, "c1", S, "")),
        c(f(0, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "index-zero-no-arguments-then-another",
        c(f(0, "c0", "now", "")),
        c(f(0, "c1", S, XT)),
        calls=[("c0", "now", {}), ("c1", S, X)],
    ),
    row("index-zero-no-id", c(f(0, name=S, args=XT)), c(f(0, name=S, args=YT)), calls=MINTED2),
    row("index-zero-no-id-blank", c(f(0, "", S, XT)), c(f(0, "", S, YT)), calls=MINTED2),
    row(
        "index-zero-no-id-fragments",
        c(f(0, name=S, args=X1)),
        c(f(0, args=X2)),
        c(f(0, name=S, args=Y1)),
        c(f(0, args=Y2)),
        calls=MINTED2,
    ),
    row(
        "index-zero-no-id-other-tool",
        c(f(0, name=S, args=XT)),
        c(f(0, name="lookup", args=YT)),
        calls=[(None, S, X), (None, "lookup", Y)],
    ),
    row(
        "index-zero-three",
        c(f(0, "c0", S, XT)),
        c(f(0, "c1", S, YT)),
        c(f(0, "c2", S, XT)),
        calls=[*TWO, ("c2", S, X)],
    ),
    row(
        "index-from-one",
        c(f(1, "c0", S, "")),
        c(f(1, args=XT)),
        c(f(2, "c1", S, "")),
        c(f(2, args=YT)),
        calls=TWO,
    ),
    row("index-with-gaps", c(f(0, "c0", S, XT)), c(f(7, "c1", S, "")), c(f(7, args=YT)), calls=TWO),
    row("index-out-of-order", c(f(1, "c1", S, YT)), c(f(0, "c0", S, XT)), calls=TWO, shuffled=True),
    row(
        "index-out-of-order-interleaved",
        c(f(3, "c1", S, Y1)),
        c(f(2, "c0", S, X1)),
        c(f(3, args=Y2)),
        c(f(2, args=X2)),
        calls=TWO,
        shuffled=True,
    ),
    row(
        "index-again-after-another",
        c(f(0, "c0", S, X1)),
        c(f(1, "c1", S, YT)),
        c(f(0, args=X2)),
        calls=TWO,
    ),
    # --- several in a chunk
    row("entries-of-one-index-in-one-chunk", c(f(0, "c0", S, ""), f(0, args=X1), f(0, args=X2))),
    row(
        "entries-of-one-index-in-one-chunk-parallel",
        c(f(0, "c0", S, ""), f(0, args=XT), f(1, "c1", S, ""), f(1, args=YT)),
        calls=TWO,
    ),
    row(
        "entries-of-two-indexes-mixed",
        c(
            f(0, "c0", S, ""),
            f(1, "c1", S, ""),
            f(1, args=Y1),
            f(0, args=X1),
            f(0, args=X2),
            f(1, args=Y2),
        ),
        calls=TWO,
    ),
    unfinished(
        "whole-in-one-chunk-with-the-reason",
        c(f(0, "c0", S, XT), f(1, "c1", S, YT), role="assistant", finish="tool_calls"),
        calls=TWO,
    ),
    # --- the name
    row("name-repeated", c(f(0, "c0", S, "")), c(f(0, ABSENT, S, X1)), c(f(0, ABSENT, S, X2))),
    row(
        "name-repeated-no-id",
        c(f(0, ABSENT, S, "")),
        c(f(0, ABSENT, S, X1)),
        c(f(0, ABSENT, S, X2)),
        calls=MINTED,
    ),
    row("name-repeated-no-index-no-id", c(f(name=S, args=X1)), c(f(name=S, args=X2)), calls=MINTED),
    row("name-in-pieces", c(f(0, "c0", "web_")), c(f(0, name="search")), c(f(0, args=XT))),
    row(
        "name-in-pieces-with-empty-arguments",
        c(f(0, "c0", "web_", "")),
        c(f(0, ABSENT, "search", "")),
        c(f(0, args=XT)),
    ),
    row(
        "name-in-pieces-with-null-arguments",
        c(f(0, "c0", "web_", None)),
        c(f(0, None, "search", None)),
        c(f(0, args=XT)),
    ),
    row(
        "name-in-pieces-id-repeated",
        c(f(0, "c0", "web_", "")),
        c(f(0, "c0", "search", "")),
        c(f(0, "c0", args=XT)),
    ),
    row(
        "name-in-pieces-last-one-with-arguments",
        c(f(0, "c0", "web_", "")),
        c(f(0, ABSENT, "search", XT)),
    ),
    row(
        "name-in-three-pieces",
        c(f(0, "c0", "we")),
        c(f(0, name="b_sea")),
        c(f(0, name="rch")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
    ),
    row(
        "name-in-pieces-parallel",
        c(f(0, "c0", "web_")),
        c(f(0, name="search")),
        c(f(0, args=XT)),
        c(f(1, "c1", "web_")),
        c(f(1, name="search")),
        c(f(1, args=YT)),
        calls=TWO,
    ),
    row(
        "name-in-pieces-no-arguments-at-all",
        c(f(0, "c0", "web_")),
        c(f(0, name="search")),
        calls=[("c0", S, {})],
    ),
    row(
        "name-in-pieces-no-id",
        c(f(0, name="web_")),
        c(f(0, name="search")),
        c(f(0, args=XT)),
        calls=MINTED,
    ),
    row("name-after-arguments", c(f(0, "c0", args=X1)), c(f(0, args=X2)), c(f(0, name=S))),
    row("name-after-all-arguments", c(f(0, "c0", ABSENT, XT)), c(f(0, ABSENT, S))),
    row("name-after-some-arguments", c(f(0, "c0", None, X1)), c(f(0, ABSENT, S, X2))),
    row("name-after-arguments-blank-first", c(f(0, "c0", "", X1)), c(f(0, ABSENT, S, X2))),
    row(
        "name-after-arguments-no-id",
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(f(0, name=S)),
        calls=MINTED,
    ),
    row(
        "name-after-arguments-parallel",
        c(f(0, "c0", args=XT)),
        c(f(0, name=S)),
        c(f(1, "c1", args=YT)),
        c(f(1, name=S)),
        calls=TWO,
    ),
    # --- the arguments
    row("arguments-object", c(f(0, "c0", S, X))),
    row("arguments-object-parallel", c(f(0, "c0", S, X), f(1, "c1", S, Y)), calls=TWO),
    row("arguments-object-no-index-no-id", c(f(name=S, args=X), f(name=S, args=Y)), calls=MINTED2),
    row(
        "arguments-object-split",
        c(f(0, "c0", S, {"q": "x"})),
        c(f(0, args={"n": 1})),
        calls=[("c0", S, {"q": "x", "n": 1})],
    ),
    row(
        "arguments-object-split-deep",
        c(f(0, "c0", S, {"a": {"b": 1}})),
        c(f(0, args={"a": {"c": 2}})),
        calls=[("c0", S, {"a": {"b": 1, "c": 2}})],
    ),
    row("arguments-object-resent", c(f(0, "c0", S, X)), c(f(0, "c0", S, X))),
    row("arguments-object-after-the-start", c(f(0, "c0", S, "")), c(f(0, args=X))),
    row("arguments-object-after-null", c(f(0, "c0", S, None)), c(f(0, args=X))),
    row("arguments-object-empty-first", c(f(0, "c0", S, {})), c(f(0, args=X))),
    row(
        "arguments-object-empty-then-text", c(f(0, "c0", S, {})), c(f(0, args=X1)), c(f(0, args=X2))
    ),
    row("arguments-object-empty-only", c(f(0, "c0", S, {})), calls=[("c0", S, {})]),
    row(
        "arguments-cumulative",
        c(f(0, "c0", S, "")),
        c(f(0, args='{"q":')),
        c(f(0, args='{"q":"x')),
        c(f(0, args=XT)),
    ),
    row(
        "arguments-cumulative-from-a-brace",
        c(f(0, "c0", S, "{")),
        c(f(0, args='{"q"')),
        c(f(0, args='{"q":"x"')),
        c(f(0, args=XT)),
    ),
    row(
        "arguments-cumulative-all-repeated",
        c(f(0, "c0", S, "")),
        c(f(0, "c0", S, '{"q"')),
        c(f(0, "c0", S, '{"q":"x')),
        c(f(0, "c0", S, XT)),
    ),
    row(
        "arguments-cumulative-last-twice",
        c(f(0, "c0", S, '{"q"')),
        c(f(0, args='{"q":"x')),
        c(f(0, args=XT)),
        c(f(0, args=XT)),
    ),
    row(
        "arguments-cumulative-parallel",
        c(f(0, "c0", S, '{"q":')),
        c(f(0, args=XT)),
        c(f(1, "c1", S, '{"q":')),
        c(f(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-cumulative-interleaved",
        c(f(0, "c0", S, '{"q":')),
        c(f(1, "c1", S, '{"q":')),
        c(f(0, args=XT)),
        c(f(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-cumulative-nested",
        c(f(0, "c0", S, '{"a":')),
        c(f(0, args='{"a":{"b":')),
        c(f(0, args='{"a":{"b":1}')),
        c(f(0, args='{"a":{"b":1}}')),
        calls=[("c0", S, {"a": {"b": 1}})],
    ),
    row("arguments-resent-whole", c(f(0, "c0", S, X1)), c(f(0, args=X2)), c(f(0, args=XT))),
    row(
        "arguments-resent-whole-with-the-id",
        c(f(0, "c0", S, X1)),
        c(f(0, args=X2)),
        c(f(0, "c0", S, XT)),
    ),
    row("arguments-resent-whole-at-once", c(f(0, "c0", S, XT)), c(f(0, args=XT))),
    row("arguments-resent-whole-at-once-with-the-id", c(f(0, "c0", S, XT)), c(f(0, "c0", S, XT))),
    row(
        "arguments-resent-whole-no-index",
        c(f(ABSENT, "c0", S, X1)),
        c(f(args=X2)),
        c(f(ABSENT, "c0", args=XT)),
    ),
    row(
        "arguments-resent-whole-parallel",
        c(f(0, "c0", S, XT)),
        c(f(1, "c1", S, YT)),
        c(f(0, args=XT), f(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-resent-whole-otherwise-spaced",
        c(f(0, "c0", S, X1)),
        c(f(0, args=X2)),
        c(f(0, args='{"q": "x"}')),
    ),
    unfinished(
        "arguments-resent-whole-with-the-reason",
        c(f(0, "c0", S, X1)),
        c(f(0, args=X2)),
        c(f(0, args=XT), finish="tool_calls"),
    ),
    row("arguments-braces-first", c(f(0, "c0", S, "{}")), c(f(0, args=XT))),
    row(
        "arguments-braces-first-then-fragments",
        c(f(0, "c0", S, "{}")),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
    ),
    row(
        "arguments-braces-first-parallel",
        c(f(0, "c0", S, "{}"), f(1, "c1", S, "{}")),
        c(f(0, args=XT), f(1, args=YT)),
        calls=TWO,
    ),
    row("arguments-braces-only", c(f(0, "c0", S, "{}")), calls=[("c0", S, {})]),
    row(
        "arguments-braces-twice", c(f(0, "c0", S, "{}")), c(f(0, args="{}")), calls=[("c0", S, {})]
    ),
    row("arguments-too-many-braces", c(f(0, "c0", S, XT)), c(f(0, args="}"))),
    row("arguments-empty", c(f(0, "c0", S, "")), calls=[("c0", S, {})]),
    row("arguments-null", c(f(0, "c0", S, None)), calls=[("c0", S, {})]),
    row("arguments-missing", c(f(0, "c0", S)), calls=[("c0", S, {})]),
    row(
        "arguments-empty-parallel",
        c(f(0, "c0", S, ""), f(1, "c1", S, "")),
        calls=[("c0", S, {}), ("c1", S, {})],
    ),
    row(
        "arguments-empty-no-id-parallel",
        c(f(0, name=S), f(1, name=S)),
        calls=[(None, S, {}), (None, S, {})],
    ),
    row(
        "arguments-empty-in-between",
        c(f(0, "c0", S, X1)),
        c(f(0, args="")),
        c(f(0, args=None)),
        c(f(0)),
        c(f(0, args=X2)),
    ),
    row(
        "arguments-never-valid",
        c(f(0, "c0", S, '{"q":')),
        c(f(0, args="x}")),
        calls=[("c0", S, '{"q":x}')],
    ),
    # --- why it stopped
    unfinished("reason-stop", c(f(0, "c0", S, XT)), c(finish="stop")),
    unfinished("reason-end-turn", c(f(0, "c0", S, XT)), c(finish="end_turn"), stop=ANY),
    unfinished("reason-missing", c(f(0, "c0", S, XT))),
    unfinished(
        "reason-missing-parallel-fragments",
        c(f(0, "c0", S, X1)),
        c(f(0, args=X2)),
        c(f(1, "c1", S, YT)),
        calls=TWO,
    ),
    unfinished("reason-on-the-chunk-with-the-call", c(f(0, "c0", S, XT), finish="tool_calls")),
    unfinished("reason-stop-on-the-chunk-with-the-call", c(f(0, "c0", S, XT), finish="stop")),
    unfinished(
        "reason-before-the-arguments-end",
        c(f(0, "c0", S, X1), finish="tool_calls"),
        c(f(0, args=X2)),
    ),
    unfinished(
        "reason-before-the-next-call",
        c(f(0, "c0", S, XT), finish="tool_calls"),
        c(f(1, "c1", S, YT), finish="tool_calls"),
        calls=TWO,
    ),
    unfinished(
        "reason-before-everything-else",
        c(f(0, "c0", S, ""), finish="stop"),
        c(f(0, args=X1)),
        c(f(0, args=X2)),
        c(finish="tool_calls"),
    ),
    unfinished("reason-twice", c(f(0, "c0", S, XT)), c(finish="tool_calls"), c(finish="stop")),
    unfinished(
        "reason-function-call-on-tool-calls", c(f(0, "c0", S, XT)), c(finish="function_call")
    ),
    unfinished(
        "reason-length-in-mid-call",
        c(f(0, "c0", S, X1)),
        c(finish="length"),
        calls=[("c0", S, X1)],
        stop=ANY,
    ),
    unfinished(
        "reason-length-after-a-whole-call",
        c(f(0, "c0", S, XT)),
        c(f(1, "c1", S, Y1)),
        c(finish="length"),
        calls=[("c0", S, X), ("c1", S, Y1)],
        stop=ANY,
    ),
    unfinished(
        "reason-tool-calls-without-calls",
        c(content="Hi."),
        c(finish="tool_calls"),
        calls=(),
        text="Hi.",
        stop=ANY,
    ),
    # --- chunks
    unfinished(
        "empty-list-in-text",
        c(content="Hi", tool_calls=[]),
        c(content="!", tool_calls=[]),
        c(finish="stop"),
        calls=(),
        text="Hi!",
        stop="stop",
    ),
    unfinished(
        "null-in-text",
        c(content="Hi", tool_calls=None, function_call=None),
        c(finish="stop"),
        calls=(),
        text="Hi",
        stop="stop",
    ),
    unfinished(
        "blank-role",
        c(role="", content="Hi"),
        c(role="", content="!"),
        c(role="", content="", finish="stop"),
        calls=(),
        text="Hi!",
        stop="stop",
    ),
    row("blank-role-on-call", c(f(0, "c0", S, X1), role=""), c(f(0, args=X2), role="", content="")),
    row(
        "content-blank-beside-calls",
        c(f(0, "c0", S, X1), content=""),
        c(f(0, args=X2), content=None),
    ),
    row(
        "chunk-id-differs",
        c(f(0, "c0", S, ""), id="a"),
        c(f(0, args=X1), id="b"),
        c(f(0, args=X2), id="c"),
    ),
    row(
        "chunk-id-differs-no-ids",
        c(f(0, name=S, args=XT), id="a"),
        c(f(1, name=S, args=""), id="b"),
        c(f(1, args=YT), id="c"),
        calls=MINTED2,
    ),
    row(
        "chunk-id-blank",
        c(f(0, name=S, args=XT), id=""),
        c(f(1, name=S, args=YT), id=""),
        calls=MINTED2,
    ),
    unfinished(
        "usage-only-chunk",
        c(f(0, "c0", S, XT)),
        END,
        with_usage({**END, "choices": []}, 5),
        usage=(3, 5),
    ),
    unfinished(
        "usage-only-chunk-without-choices",
        c(f(0, "c0", S, XT)),
        END,
        with_usage({"id": "chatcmpl-1"}, 5),
        usage=(3, 5),
    ),
    unfinished(
        "usage-on-every-chunk",
        with_usage(c(f(0, "c0", S, XT)), 1),
        with_usage(c(f(0, args="")), 2),
        with_usage(END, 5),
        usage=(3, 5),
    ),
    row(
        "chunk-without-choices-first",
        {
            "id": "",
            "object": "",
            "created": 0,
            "model": "",
            "choices": [],
            "prompt_filter_results": [{"prompt_index": 0}],
        },
        c(f(0, "c0", S, XT)),
    ),
    row(
        "chunk-without-delta",
        {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": None}]},
        c(f(0, "c0", S, XT)),
        {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": None, "finish_reason": None}]},
    ),
    row("entry-of-nothing", c(f(0, "c0", S, XT)), c({}), c(f(0))),
    # --- one call the old way
    unfinished(
        "function-call",
        c(function_call={"name": S, "arguments": ""}),
        c(function_call={"arguments": X1}),
        c(function_call={"arguments": X2}),
        c(finish="function_call"),
        calls=MINTED,
    ),
    unfinished(
        "function-call-whole",
        c(function_call={"name": S, "arguments": XT}),
        c(finish="function_call"),
        calls=MINTED,
    ),
    unfinished(
        "function-call-name-repeated",
        c(function_call={"name": S, "arguments": X1}),
        c(function_call={"name": S, "arguments": X2}),
        c(finish="stop"),
        calls=MINTED,
    ),
    # --- several candidates
    unfinished(
        "candidates",
        c(f(0, "c0", S, X1)),
        c(f(0, "c1", S, Y1), choice=1),
        c(f(0, args=X2)),
        c(f(0, args=Y2), choice=1),
        END,
        c(finish="tool_calls", choice=1),
        others=(("c1", S, Y),),
    ),
    unfinished(
        "candidates-without-ids",
        c(f(0, name=S, args=X1)),
        c(f(0, name=S, args=Y1), choice=1),
        c(f(0, args=X2)),
        c(f(0, args=Y2), choice=1),
        END,
        c(finish="tool_calls", choice=1),
        calls=MINTED,
        others=((None, S, Y),),
    ),
    unfinished(
        "candidates-one-of-which-calls",
        c(content="Hi."),
        c(f(0, "c1", S, YT), choice=1),
        c(finish="stop"),
        c(finish="tool_calls", choice=1),
        calls=(),
        text="Hi.",
        stop="stop",
        others=(("c1", S, Y),),
    ),
    unfinished(
        "candidates-the-second-first",
        c(f(0, "c1", S, YT), choice=1),
        c(f(0, "c0", S, XT)),
        c(finish="tool_calls", choice=1),
        END,
        others=(("c1", S, Y),),
    ),
    # --- broken off
    unfinished(
        "cut-in-mid-arguments", c(f(0, "c0", S, X1)), calls=[("c0", S, X1)], broken=True, done=False
    ),
    unfinished(
        "cut-in-mid-arguments-of-the-second",
        c(f(0, "c0", S, XT)),
        c(f(1, "c1", S, Y1)),
        calls=[("c0", S, X), ("c1", S, Y1)],
        broken=True,
        done=False,
    ),
    unfinished(
        "cut-in-an-event",
        c(f(0, "c0", S, X1)),
        calls=[("c0", S, X1)],
        broken=True,
        done=False,
        raw=b'data: {"id":"chatc',
    ),
    unfinished("cut-after-whole-arguments", c(f(0, "c0", S, XT)), broken=True, done=False),
    unfinished(
        "cut-after-the-name", c(f(0, "c0", S, "")), calls=[("c0", S, "")], broken=True, done=False
    ),
    unfinished(
        "cut-after-the-name-no-id", c(f(0, name=S)), calls=[(None, S, "")], broken=True, done=False
    ),
    unfinished(
        "cut-without-an-id",
        c(f(0, name=S, args=X1)),
        calls=[(None, S, X1)],
        broken=True,
        done=False,
    ),
    unfinished("cut-in-text", c(content="Hel"), calls=(), text="Hel", broken=True, done=False),
    unfinished(
        "cut-in-cumulative-arguments",
        c(f(0, "c0", S, "{")),
        c(f(0, args='{"q"')),
        c(f(0, args='{"q":"x')),
        calls=[("c0", S, '{"q":"x')],
        broken=True,
        done=False,
    ),
    unfinished(
        "error-in-mid-arguments",
        c(f(0, "c0", S, X1)),
        {"error": {"message": "overloaded", "type": "server_error"}},
        calls=[("c0", S, X1)],
        broken=True,
    ),
    unfinished(
        "error-in-mid-arguments-then-done-twice",
        c(f(0, "c0", S, X1)),
        {"error": {"message": "overloaded"}},
        calls=[("c0", S, X1)],
        broken=True,
        raw=b"data: [DONE]\n\n",
    ),
    unfinished(
        "error-that-is-a-text",
        c(content="Hel"),
        {"error": "overloaded"},
        calls=(),
        text="Hel",
        broken=True,
    ),
    unfinished(
        "error-after-the-calls",
        c(f(0, "c0", S, XT)),
        {"error": {"message": "overloaded"}},
        broken=True,
    ),
    # --- the end
    unfinished("end-without-done", c(f(0, "c0", S, XT)), END, done=False),
    unfinished("end-with-done-twice", c(f(0, "c0", S, XT)), END, raw=b"data: [DONE]\n\n"),
    # --- what nobody knows
    row(
        "unknown-field-on-a-call",
        c(f(0, "c0", S, XT, extra_content={"google": {"thought_signature": "sig"}})),
    ),
    row(
        "reasoning-content",
        c(reasoning_content="Hm"),
        c(reasoning_content="m."),
        c(f(0, "c0", S, XT)),
    ),
    row("reasoning", c(reasoning="Hmm."), c(f(0, "c0", S, XT))),
)


def stream_bytes(row: Row, *, crlf: bool = False) -> bytes:
    """The bytes of a stream; with `crlf` also with comments and event names, which have no meaning."""
    out = b"".join(
        b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n" for chunk in row.chunks
    )
    if row.done:
        out += b"data: [DONE]\n\n"
    out += row.raw
    if crlf:
        out = b": hello\n\n" + out.replace(
            b"data: ", b": keep-alive\n\nevent: message\nid: 1\ndata:"
        )
        out = out.replace(b"\n", b"\r\n")
    return out


def call_input(call: Call, input: JSON) -> JSON:
    """The input of a call in the form of the expected one: its text if that was cut off."""
    if isinstance(input, str):
        found = call.input
        if isinstance(found, dict) and set(found) == {"_raw"}:
            return found["_raw"] if input else str(found["_raw"]).strip()
        if not input and not call.arguments.strip():
            return ""
        return (
            "" if not input and found == {} else call.arguments
        )  # some wires open a call with an empty object
    return call.input


def assert_calls(
    found: list[Call],
    row: Row,
    expected: tuple[tuple[str | None, str, JSON], ...],
    reverse_map: dict[str, str],
    *,
    live: bool = False,
) -> None:
    """Assert that the calls are the expected ones, in order, with their ids."""
    if row.shuffled and live:
        order = [id for id, _, _ in expected]
        found = sorted(found, key=lambda call: order.index(reverse_map.get(call.id, call.id)))
    assert [call.name for call in found] == [name for _, name, _ in expected]
    assert [
        call_input(call, input) for call, (_, _, input) in zip(found, expected, strict=True)
    ] == [input for _, _, input in expected]
    for call, (id, _, _) in zip(found, expected, strict=True):
        assert call.id.strip()
        if id is None:
            assert is_minted(reverse_map.get(call.id, call.id))
        elif id is not ANY:
            assert reverse_map.get(call.id, call.id) == id
    if len({id for id, _, _ in expected if id}) == sum(1 for id, _, _ in expected if id):
        assert len({call.id for call in found}) == len(found)


def text_of_answer(conversation: Conversation) -> str:
    first = conversation.messages[0].parts if conversation.messages else ()
    return "".join(part.text for part in first if isinstance(part, Text))


def neutral_events(row: Row) -> list[Event]:
    """The neutral events of a stream."""
    spec = wire(SOURCE).stream
    assert spec is not None
    reader = spec.reader(keep=False)
    out: list[Event] = []
    for chunk in row.chunks:
        assert isinstance(chunk, dict)
        out += reader.read(chunk)
        reader.count += 1
    reader.done = row.done
    return out + reader.end()


def test_the_corpus_has_many_rows_with_unique_names() -> None:
    assert len({row.name for row in CORPUS}) == len(CORPUS) > 150


@rows("row", CORPUS)
def test_the_folded_body_has_the_calls(row: Row) -> None:
    body = fold(stream_bytes(row), SOURCE)
    conversation = decode(body, SOURCE, "response")
    assert isinstance(body, dict)
    assert ("error" in body) is row.broken
    first = [part for part in conversation.messages[0].parts if isinstance(part, Call)]
    assert_calls(first, row, row.calls, {})
    rest = [
        part
        for message in conversation.messages[1:]
        for part in message.parts
        if isinstance(part, Call)
    ]
    assert_calls(rest, row, row.others, {})
    assert text_of_answer(conversation) == row.text
    if not row.broken and row.stop is not ANY:
        assert conversation.messages[0].stop == row.stop
    if row.usage is not None:
        usage = conversation.settings["usage"]
        assert (usage.input, usage.output) == row.usage  # type: ignore[union-attr]


@rows("row", CORPUS)
def test_the_folded_body_does_not_depend_on_pieces_or_framing(row: Row) -> None:
    whole = stream_bytes(row)
    body = fold(whole, SOURCE)
    assert fold((whole[i : i + 1] for i in range(len(whole))), SOURCE) == body
    assert fold(stream_bytes(row, crlf=True), SOURCE) == body
    if not row.raw and (
        not row.done or any('finish_reason": "' in json.dumps(chunk) for chunk in row.chunks)
    ):
        assert fold(list(row.chunks), SOURCE) == body


def by_target(target: str, row: Row) -> str:
    return target


def assert_translated(row: Row, target: str) -> None:
    """Assert that a wire gets the content of a row."""
    stream = restream(stream_bytes(row), SOURCE, target)
    out = b"".join(stream)
    body = fold(out, target)
    conversation = decode(body, target, "response")
    first = (
        [part for part in conversation.messages[0].parts if isinstance(part, Call)]
        if conversation.messages
        else []
    )
    assert_calls(first, row, row.calls, stream.ids.ids, live=True)
    assert text_of_answer(conversation) == row.text
    if row.others and len(conversation.messages) < 2:
        assert any("candidate" in loss.reason for loss in stream.losses)
    if not row.broken and row.stop is not ANY:
        assert conversation.messages[0].stop == row.stop
    if row.broken:
        assert "overloaded" in out.decode(errors="replace") or not row.done


@rows("target, row", [(target, row) for target in TARGETS for row in CORPUS], group=by_target)
def test_every_other_wire_gets_the_calls(target: str, row: Row) -> None:
    assert_translated(row, target)


@rows(
    "target, row",
    [(target, row) for target in (TARGETS if DEEP else ("anthropic",)) for row in CORPUS],
    group=by_target,
)
def test_single_bytes_give_another_wire_the_same_stream(target: str, row: Row) -> None:
    whole = stream_bytes(row)
    single = (whole[i : i + 1] for i in range(len(whole)))
    assert b"".join(restream(single, SOURCE, target)) == b"".join(restream(whole, SOURCE, target))


@rows("row", CORPUS)
def test_the_chunks_reach_their_own_wire_unchanged(row: Row) -> None:
    assert list(restream(stream_bytes(row), SOURCE, SOURCE, framed=False)) == list(row.chunks)


@rows("row", CORPUS)
def test_the_neutral_events_open_grow_and_close_each_call_once(row: Row) -> None:
    calls: dict[int, tuple[Call, list[str], int]] = {}
    ends: dict[int, PartEnd] = {}
    found: list[tuple[Call, str, bool, int]] = []
    events = neutral_events(row)
    opened: set[int] = set()
    for event in events:
        match event:
            case PartStart(slot=slot, part=part, choice=choice):
                assert slot not in opened
                opened.add(slot)
                if isinstance(part, Call):
                    assert part.id and part.name
                    calls[slot] = (part, [], choice)
            case PartDelta(slot=slot, text=text):
                assert slot in opened and slot not in ends
                if slot in calls:
                    calls[slot][1].append(text)
            case PartEnd(slot=slot):
                assert slot in opened and slot not in ends
                ends[slot] = event
                if slot in calls:
                    call, texts, choice = calls[slot]
                    found.append(
                        (
                            call,
                            event.whole if event.whole is not None else "".join(texts),
                            event.cut,
                            choice,
                        )
                    )
            case PartComplete(part=Call() as call, choice=choice):
                found.append((call, call.arguments, False, choice))
    assert set(ends) == opened
    assert len([one for one in found if not one[3]]) == len(row.calls)
    for name, input in ((name, input) for _, name, input in (*row.calls, *row.others)):
        texts = [text for call, text, _, _ in found if call.name == name]
        if isinstance(input, str):
            assert input in texts
        else:
            assert input in [
                json.loads(text) if text.strip() else {} for text in texts if _valid(text)
            ]
    if row.broken:
        assert isinstance(events[-1], StreamError)
        broken = [text for _, text, cut, _ in found if cut]
        assert [input for _, _, input in row.calls if isinstance(input, str)] == [
            text for text in broken if not text or not _valid(text)
        ]
    else:
        assert not any(isinstance(event, StreamError) for event in events)
        assert any(isinstance(event, Finish) for event in events)


def _valid(text: str) -> bool:
    try:
        json.loads(text or "{}")
    except ValueError:
        return False
    return True


@rows("row", [row for row in CORPUS if row.broken and row.name.startswith("cut")])
def test_a_cut_stream_ends_in_an_error_that_says_so(row: Row) -> None:
    error = neutral_events(row)[-1]
    assert isinstance(error, StreamError) and error.cut


@rows("row", [row for row in CORPUS if row.name.startswith("error")])
def test_an_error_record_keeps_its_message(row: Row) -> None:
    error = neutral_events(row)[-1]
    assert isinstance(error, StreamError) and not error.cut and "overloaded" in error.message
    body = fold(stream_bytes(row), SOURCE)
    assert isinstance(body, dict) and "overloaded" in json.dumps(body["error"])


ERROR = {"error": {"message": "overloaded", "type": "server_error", "code": 503}}


def test_a_stream_of_one_error_folds_to_the_error() -> None:
    body = fold([ERROR], SOURCE)
    assert isinstance(body, dict) and body["error"] == ERROR["error"]


@rows("target", TARGETS)
def test_a_stream_of_one_error_is_an_error_on_every_wire(target: str) -> None:
    assert b"overloaded" in b"".join(restream([ERROR], SOURCE, target))


def test_an_unknown_field_stays_on_its_call() -> None:
    case = next(row for row in CORPUS if row.name == "unknown-field-on-a-call")
    body = json.dumps(fold(stream_bytes(case), SOURCE))
    assert '"extra_content": {"google": {"thought_signature": "sig"}}' in body
    for target in TARGETS:
        stream = restream(stream_bytes(case), SOURCE, target)
        sent = b"".join(stream)
        assert b"thought_signature" in sent or stream.losses, target


def test_a_call_without_a_name_is_not_lost() -> None:
    chunks = [c(f(0, "c0", args='{"q":"needle"}')), END]
    assert "needle" in json.dumps(fold(chunks, SOURCE))
    for target in TARGETS:
        stream = restream(chunks, SOURCE, target)
        out = b"".join(stream)
        assert b"needle" in out or stream.losses, target


@rows("target", TARGETS)
@rows("name", ["id-too-late", "id-much-too-late", "id-a-number"])
def test_the_id_map_leads_from_a_minted_id_to_the_late_id_of_the_wire(
    name: str, target: str
) -> None:
    case = next(row for row in CORPUS if row.name == name)
    (call,) = decode(fold(stream_bytes(case), SOURCE), SOURCE, "response").calls()
    stream = restream(stream_bytes(case), SOURCE, target)
    (sent,) = decode(fold(b"".join(stream), target), target, "response").calls()
    assert stream.ids.ids.get(sent.id, sent.id) == call.id


@rows(
    "row",
    [
        row
        for row in CORPUS
        if not row.broken and any(id is None for id, _, _ in (*row.calls, *row.others))
    ],
)
def test_minted_ids_are_those_of_the_body(row: Row) -> None:
    body = [call.id for call in decode(fold(stream_bytes(row), SOURCE), SOURCE, "response").calls()]
    streamed = [
        event.part.id
        for event in neutral_events(row)
        if isinstance(event, PartStart | PartComplete) and isinstance(event.part, Call)
    ]
    if row.others:  # the number of calls in earlier candidates is not known while they arrive
        assert len({*streamed}) == len(body)
    else:
        assert sorted(body) == sorted(streamed)


ESCAPES = '{"ab":"' + '\\"' * 100 + '"}'
ARGUMENTS: dict[str, tuple[list[JSON], str]] = {
    "braces and blanks": (["{}", "  "], "{}"),
    "text after braces": (["{}", "x"], "{}"),
    "repeated in pieces": (['{"a":1}', '{"a":', "1}"], '{"a":1}'),
    "replaced in pieces": (['{"a":1}', '{"b":', "2}"], '{"b":2}'),
    "a number": ([5], "5"),
    "objects that are merged": ([{"a": {"b": 1}}, {"a": {"c": 2}}], '{"a":{"b":1,"c":2}}'),
    "one character at a time": ([*ESCAPES], ESCAPES),
    "a nested object that starts like the text": (['{"a":', '{"a":1}}'], '{"a":{"a":1}}'),
    "snapshots": (['{"a":', '{"a":{"b"', '{"a":{"b":1}}'], '{"a":{"b":1}}'),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_pieces_of_arguments_add_up(name: str) -> None:
    pieces, expected = ARGUMENTS[name]
    arguments = ArgumentText()
    text = "".join([arguments.add(piece) for piece in pieces])
    rest, whole = arguments.finish()
    assert (text + rest if whole is None else whole) == expected
