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


def entry(
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


def chunk(
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


class IrregularStream(Struct, frozen=True, eq=False):
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
END = chunk(finish="tool_calls")
ONE_CALL = (("c0", S, X),)
TWO = (("c0", S, X), ("c1", S, Y))
MINTED = ((None, S, X),)
MINTED2 = ((None, S, X), (None, S, Y))
LONG = "call_1__thought__" + "Ab/+9=" * 60


def row(
    name: str,
    *chunks: JSON,
    calls: Iterable[tuple[str | None, str, JSON]] = ONE_CALL,
    **more: object,
) -> IrregularStream:
    """A row whose stream ends regularly."""
    return IrregularStream(name, (*chunks, END), tuple(calls), **more)  # type: ignore[arg-type]


def row_without_end(
    name: str,
    *chunks: JSON,
    calls: Iterable[tuple[str | None, str, JSON]] = ONE_CALL,
    **more: object,
) -> IrregularStream:
    """A row whose chunks are the whole stream."""
    return IrregularStream(name, chunks, tuple(calls), **more)  # type: ignore[arg-type]


CORPUS: tuple[IrregularStream, ...] = (
    # --- as it should be
    row(
        "regular",
        chunk(role="assistant", content=None),
        chunk(entry(0, "c0", S, "", type="function")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
    ),
    row(
        "regular-parallel",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(1, args=Y1)),
        chunk(entry(1, args=Y2)),
        calls=TWO,
    ),
    row(
        "regular-interleaved",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(1, args=Y1)),
        chunk(entry(0, args=X1)),
        chunk(entry(1, args=Y2)),
        chunk(entry(0, args=X2)),
        calls=TWO,
    ),
    row(
        "regular-interleaved-in-one-chunk",
        chunk(entry(0, "c0", S, ""), entry(1, "c1", S, "")),
        chunk(entry(0, args=X1), entry(1, args=Y1)),
        chunk(entry(1, args=Y2), entry(0, args=X2)),
        calls=TWO,
    ),
    row(
        "regular-text-before",
        chunk(content="Let me "),
        chunk(content="look."),
        chunk(entry(0, "c0", S, XT)),
        text="Let me look.",
    ),
    row(
        "regular-text-and-call-in-one-chunk",
        chunk(entry(0, "c0", S, ""), content="Look"),
        chunk(entry(0, args=XT), content="ing."),
        text="Looking.",
    ),
    row("regular-text-after", chunk(entry(0, "c0", S, XT)), chunk(content="Done."), text="Done."),
    row(
        "regular-letter-by-letter",
        chunk(entry(0, "c0", S, "")),
        *(chunk(entry(0, args=letter)) for letter in '{"q":"x","n":[1,{"q":"x"}]}'),
        calls=[("c0", S, {"q": "x", "n": [1, {"q": "x"}]})],
    ),
    row(
        "regular-scalars-that-grow",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, args='{"n":1')),
        chunk(entry(0, args="1")),
        chunk(entry(0, args="1}")),
        calls=[("c0", S, {"n": 111})],
    ),
    # --- traps: what looks irregular and is not
    row(
        "trap-equal-fragments",
        chunk(entry(0, "c0", S, '{"q":"')),
        *(chunk(entry(0, args="ha")) for _ in range(3)),
        chunk(entry(0, args='"}')),
        calls=[("c0", S, {"q": "hahaha"})],
    ),
    row(
        "trap-nested-object-looks-cumulative",
        chunk(entry(0, "c0", S, '{"q":')),
        chunk(entry(0, args='{"q":1}')),
        chunk(entry(0, args="}")),
        calls=[("c0", S, {"q": {"q": 1}})],
    ),
    row(
        "trap-nested-object-looks-cumulative-longer",
        chunk(entry(0, "c0", S, '{"a":')),
        chunk(entry(0, args='{"a":')),
        chunk(entry(0, args='{"a":1}}')),
        chunk(entry(0, args="}")),
        calls=[("c0", S, {"a": {"a": {"a": 1}}})],
    ),
    row(
        "trap-objects-in-a-list",
        chunk(entry(0, "c0", S, '{"l":[')),
        chunk(entry(0, args="{}")),
        chunk(entry(0, args=",")),
        chunk(entry(0, args="{}")),
        chunk(entry(0, args=",{}]}")),
        calls=[("c0", S, {"l": [{}, {}, {}]})],
    ),
    row(
        "trap-equal-objects-in-a-list",
        chunk(entry(0, "c0", S, '{"l":[')),
        chunk(entry(0, args=XT)),
        chunk(entry(0, args=",")),
        chunk(entry(0, args=XT)),
        chunk(entry(0, args="]}")),
        calls=[("c0", S, {"l": [X, X]})],
    ),
    row(
        "trap-json-in-a-string",
        chunk(entry(0, "c0", S, '{"q":"')),
        chunk(entry(0, args='{\\"q\\":')),
        chunk(entry(0, args="{}")),
        chunk(entry(0, args='}"}')),
        calls=[("c0", S, {"q": '{"q":{}}'})],
    ),
    row(
        "trap-white-space-around",
        chunk(entry(0, "c0", S, " \n")),
        chunk(entry(0, args=XT)),
        chunk(entry(0, args=" \n")),
    ),
    row(
        "trap-escape-cut-in-two",
        chunk(entry(0, "c0", S, '{"q":"\\')),
        chunk(entry(0, args="u00")),
        chunk(entry(0, args='e9"}')),
        calls=[("c0", S, {"q": "é"})],
    ),
    row(
        "trap-a-number-is-the-prefix-of-the-next",
        chunk(entry(0, "c0", S, '{"n":')),
        chunk(entry(0, args="1")),
        chunk(entry(0, args="12")),
        chunk(entry(0, args="}")),
        calls=[("c0", S, {"n": 112})],
    ),
    # --- the id
    row(
        "id-repeated",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "c0", args=X1)),
        chunk(entry(0, "c0", args=X2)),
    ),
    row(
        "id-repeated-parallel",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(0, "c0", args=X1)),
        chunk(entry(1, "c1", args=Y1)),
        chunk(entry(0, "c0", args=X2)),
        chunk(entry(1, "c1", args=Y2)),
        calls=TWO,
    ),
    row(
        "id-and-name-repeated",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, "c0", S, X2)),
    ),
    row(
        "id-and-name-repeated-parallel",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, "c0", S, X2)),
        chunk(entry(1, "c1", S, Y1)),
        chunk(entry(1, "c1", S, Y2)),
        calls=TWO,
    ),
    row(
        "id-and-name-repeated-on-an-empty-last-delta",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(0, "c0", S, "")),
    ),
    row(
        "id-blank-later",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "", args=X1)),
        chunk(entry(0, "", args=X2)),
    ),
    row(
        "id-and-name-blank-later",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "", "", X1)),
        chunk(entry(0, "", "", X2)),
    ),
    row(
        "id-and-name-null-later",
        chunk(entry(0, "c0", S, None)),
        chunk(entry(0, None, None, X1)),
        chunk(entry(0, None, None, X2)),
    ),
    row(
        "id-the-word-null-later",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "null", args=X1)),
        chunk(entry(0, "None", args=X2)),
    ),
    row(
        "id-blank-later-parallel",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "", "", XT)),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(1, "", "", YT)),
        calls=TWO,
    ),
    row(
        "id-differs-later",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "zz", args=X1)),
        chunk(entry(0, "zz", args=X2)),
    ),
    row(
        "id-differs-on-every-delta",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "z1", args=X1)),
        chunk(entry(0, "z2", "", X2)),
        chunk(entry(0, "z3", args="")),
    ),
    row(
        "id-differs-later-parallel",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "z1", args=XT)),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(1, "z2", args=YT)),
        calls=TWO,
    ),
    row(
        "id-differs-later-interleaved",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(1, "c1", S, "")),
        chunk(entry(0, "z1", args=X1)),
        chunk(entry(1, "z2", args=Y1)),
        chunk(entry(0, "z3", args=X2)),
        chunk(entry(1, "z4", args=Y2)),
        calls=TWO,
    ),
    row(
        "id-missing",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        calls=MINTED,
    ),
    row(
        "id-missing-parallel",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, args=XT)),
        chunk(entry(1, name=S, args="")),
        chunk(entry(1, args=YT)),
        calls=MINTED2,
    ),
    row(
        "id-missing-interleaved",
        chunk(entry(0, name=S, args="")),
        chunk(entry(1, name=S, args="")),
        chunk(entry(1, args=YT)),
        chunk(entry(0, args=XT)),
        calls=MINTED2,
    ),
    row(
        "id-missing-equal-calls",
        chunk(entry(0, name=S, args=XT)),
        chunk(entry(1, name=S, args=XT)),
        calls=[*MINTED, *MINTED],
    ),
    row(
        "id-missing-of-one-of-two",
        chunk(entry(0, name=S, args=XT)),
        chunk(entry(1, "c1", S, YT)),
        calls=[(None, S, X), ("c1", S, Y)],
    ),
    row(
        "id-missing-of-the-second",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(1, name=S, args=YT)),
        calls=[("c0", S, X), (None, S, Y)],
    ),
    row(
        "id-blank-at-the-start",
        chunk(entry(0, "", S, "")),
        chunk(entry(0, "", args=XT)),
        calls=MINTED,
    ),
    row(
        "id-blank-at-the-start-parallel",
        chunk(entry(0, "", S, XT)),
        chunk(entry(1, "", S, YT)),
        calls=MINTED2,
    ),
    row("id-white-space", chunk(entry(0, "  ", S, XT)), calls=MINTED),
    row("id-null", chunk(entry(0, None, S, XT)), calls=MINTED),
    row("id-a-number", chunk(entry(0, 7, S, XT)), calls=[(ANY, S, X)]),
    row(
        "id-late", chunk(entry(0, name=S, args="")), chunk(entry(0, "c0")), chunk(entry(0, args=XT))
    ),
    row(
        "id-late-with-arguments",
        chunk(entry(0, name=S)),
        chunk(entry(0, "c0", args=X1)),
        chunk(entry(0, args=X2)),
    ),
    row(
        "id-late-after-arguments", chunk(entry(0, name=S, args=X1)), chunk(entry(0, "c0", args=X2))
    ),
    row("id-late-after-a-blank-one", chunk(entry(0, "", S, "")), chunk(entry(0, "c0", args=XT))),
    row(
        "id-late-after-the-word-null",
        chunk(entry(0, "null", S, "")),
        chunk(entry(0, "c0", args=XT)),
    ),
    row(
        "id-late-parallel",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, "c0", args=XT)),
        chunk(entry(1, name=S, args="")),
        chunk(entry(1, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "id-late-interleaved",
        chunk(entry(0, name=S, args=""), entry(1, name=S, args="")),
        chunk(entry(0, "c0", args=XT), entry(1, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "id-late-with-the-name-again",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, "c0", S, XT)),
    ),
    row(
        "id-too-late",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, "c0", args=X2)),
        calls=[(ANY, S, X)],
    ),
    row(
        "id-much-too-late",
        chunk(entry(0, name=S, args="")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, "c0")),
        calls=[(ANY, S, X)],
    ),
    row("id-before-the-name", chunk(entry(0, "c0")), chunk(entry(0, name=S, args=XT))),
    row(
        "id-of-two-calls-the-same",
        chunk(entry(0, "call", S, XT)),
        chunk(entry(1, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-fragments",
        chunk(entry(0, "call", S, "")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(1, "call", S, "")),
        chunk(entry(1, args=Y1)),
        chunk(entry(1, args=Y2)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-interleaved",
        chunk(entry(0, "call", S, ""), entry(1, "call", S, "")),
        chunk(entry(0, "call", args=XT)),
        chunk(entry(1, "call", args=YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same",
        chunk(entry(0, "call", S, XT)),
        chunk(entry(0, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same-other-tool",
        chunk(entry(0, "call", S, XT)),
        chunk(entry(0, "call", "lookup", YT)),
        calls=[("call", S, X), (None, "lookup", Y)],
    ),
    row(
        "id-and-index-of-two-calls-the-same-fragments",
        chunk(entry(0, "call", S, "")),
        chunk(entry(0, args=XT)),
        chunk(entry(0, "call", S, "")),
        chunk(entry(0, args=YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-same-no-index",
        chunk(entry(ABSENT, "call", S, XT)),
        chunk(entry(ABSENT, "call", S, YT)),
        calls=[("call", S, X), (None, S, Y)],
    ),
    row(
        "id-of-two-calls-the-word-null",
        chunk(entry(0, "null", S, XT), entry(0, "null", S, YT)),
        calls=MINTED2,
    ),
    row(
        "id-of-two-calls-the-word-null-indexed",
        chunk(entry(0, "null", S, XT)),
        chunk(entry(1, "null", S, YT)),
        calls=MINTED2,
    ),
    row("id-long-and-strange", chunk(entry(0, LONG, S, XT)), calls=[(LONG, S, X)]),
    row(
        "id-long-and-strange-repeated",
        chunk(entry(0, LONG, S, "")),
        chunk(entry(0, LONG, args=XT)),
        calls=[(LONG, S, X)],
    ),
    row(
        "id-restarting-each-turn",
        chunk(entry(0, "functions.web_search:0", S, XT)),
        chunk(entry(1, "functions.web_search:1", S, YT)),
        calls=[("functions.web_search:0", S, X), ("functions.web_search:1", S, Y)],
    ),
    # --- the index
    row(
        "index-missing-whole",
        chunk(entry(ABSENT, "c0", S, XT)),
        chunk(entry(ABSENT, "c1", S, YT)),
        calls=TWO,
    ),
    row(
        "index-missing-whole-in-one-chunk",
        chunk(entry(ABSENT, "c0", S, XT), entry(ABSENT, "c1", S, YT)),
        calls=TWO,
    ),
    row(
        "index-missing-fragments",
        chunk(entry(ABSENT, "c0", S, "")),
        chunk(entry(args=X1)),
        chunk(entry(args=X2)),
        chunk(entry(ABSENT, "c1", S, "")),
        chunk(entry(args=Y1)),
        chunk(entry(args=Y2)),
        calls=TWO,
    ),
    row(
        "index-missing-fragments-with-ids",
        chunk(entry(ABSENT, "c0", S, "")),
        chunk(entry(ABSENT, "c0", args=X1)),
        chunk(entry(ABSENT, "c0", args=X2)),
        chunk(entry(ABSENT, "c1", S, "")),
        chunk(entry(ABSENT, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "index-missing-interleaved-with-ids",
        chunk(entry(ABSENT, "c0", S, "")),
        chunk(entry(ABSENT, "c1", S, "")),
        chunk(entry(ABSENT, "c0", args=X1)),
        chunk(entry(ABSENT, "c1", args=Y1)),
        chunk(entry(ABSENT, "c0", args=X2)),
        chunk(entry(ABSENT, "c1", args=Y2)),
        calls=TWO,
    ),
    row(
        "index-missing-no-id",
        chunk(entry(name=S, args=XT)),
        chunk(entry(name=S, args=YT)),
        calls=MINTED2,
    ),
    row(
        "index-missing-no-id-in-one-chunk",
        chunk(entry(name=S, args=XT), entry(name=S, args=YT)),
        calls=MINTED2,
    ),
    row(
        "index-missing-no-id-fragments",
        chunk(entry(name=S, args="")),
        chunk(entry(args=X1)),
        chunk(entry(args=X2)),
        chunk(entry(name=S, args="")),
        chunk(entry(args=YT)),
        calls=MINTED2,
    ),
    row(
        "index-missing-no-id-other-tools",
        chunk(entry(name=S, args=XT)),
        chunk(entry(name="lookup", args=YT)),
        calls=[(None, S, X), (None, "lookup", Y)],
    ),
    row(
        "index-missing-later",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(args=X1)),
        chunk(entry(args=X2)),
    ),
    row("index-null-whole", chunk(entry(None, "c0", S, XT), entry(None, "c1", S, YT)), calls=TWO),
    row(
        "index-null-fragments",
        chunk(entry(None, "c0", S, "")),
        chunk(entry(None, args=XT)),
        chunk(entry(None, "c1", S, "")),
        chunk(entry(None, args=YT)),
        calls=TWO,
    ),
    row(
        "index-null-no-id",
        chunk(entry(None, None, S, XT)),
        chunk(entry(None, None, S, YT)),
        calls=MINTED2,
    ),
    row("index-zero-whole", chunk(entry(0, "c0", S, XT)), chunk(entry(0, "c1", S, YT)), calls=TWO),
    row(
        "index-zero-whole-in-one-chunk",
        chunk(entry(0, "c0", S, XT), entry(0, "c1", S, YT)),
        calls=TWO,
    ),
    row(
        "index-zero-equal-calls",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(0, "c1", S, XT)),
        calls=[("c0", S, X), ("c1", S, X)],
    ),
    row(
        "index-zero-fragments",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, "c1", S, "")),
        chunk(entry(0, args=Y1)),
        chunk(entry(0, args=Y2)),
        calls=TWO,
    ),
    row(
        "index-zero-fragments-ids-repeated",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "c0", args=XT)),
        chunk(entry(0, "c1", S, "")),
        chunk(entry(0, "c1", args=YT)),
        calls=TWO,
    ),
    row(
        "index-zero-no-arguments-then-another",
        chunk(entry(0, "c0", "now", "")),
        chunk(entry(0, "c1", S, XT)),
        calls=[("c0", "now", {}), ("c1", S, X)],
    ),
    row(
        "index-zero-no-id",
        chunk(entry(0, name=S, args=XT)),
        chunk(entry(0, name=S, args=YT)),
        calls=MINTED2,
    ),
    row(
        "index-zero-no-id-blank",
        chunk(entry(0, "", S, XT)),
        chunk(entry(0, "", S, YT)),
        calls=MINTED2,
    ),
    row(
        "index-zero-no-id-fragments",
        chunk(entry(0, name=S, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, name=S, args=Y1)),
        chunk(entry(0, args=Y2)),
        calls=MINTED2,
    ),
    row(
        "index-zero-no-id-other-tool",
        chunk(entry(0, name=S, args=XT)),
        chunk(entry(0, name="lookup", args=YT)),
        calls=[(None, S, X), (None, "lookup", Y)],
    ),
    row(
        "index-zero-three",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(0, "c1", S, YT)),
        chunk(entry(0, "c2", S, XT)),
        calls=[*TWO, ("c2", S, X)],
    ),
    row(
        "index-from-one",
        chunk(entry(1, "c0", S, "")),
        chunk(entry(1, args=XT)),
        chunk(entry(2, "c1", S, "")),
        chunk(entry(2, args=YT)),
        calls=TWO,
    ),
    row(
        "index-with-gaps",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(7, "c1", S, "")),
        chunk(entry(7, args=YT)),
        calls=TWO,
    ),
    row(
        "index-out-of-order",
        chunk(entry(1, "c1", S, YT)),
        chunk(entry(0, "c0", S, XT)),
        calls=TWO,
        shuffled=True,
    ),
    row(
        "index-out-of-order-interleaved",
        chunk(entry(3, "c1", S, Y1)),
        chunk(entry(2, "c0", S, X1)),
        chunk(entry(3, args=Y2)),
        chunk(entry(2, args=X2)),
        calls=TWO,
        shuffled=True,
    ),
    row(
        "index-again-after-another",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(1, "c1", S, YT)),
        chunk(entry(0, args=X2)),
        calls=TWO,
    ),
    # --- several in a chunk
    row(
        "entries-of-one-index-in-one-chunk",
        chunk(entry(0, "c0", S, ""), entry(0, args=X1), entry(0, args=X2)),
    ),
    row(
        "entries-of-one-index-in-one-chunk-parallel",
        chunk(entry(0, "c0", S, ""), entry(0, args=XT), entry(1, "c1", S, ""), entry(1, args=YT)),
        calls=TWO,
    ),
    row(
        "entries-of-two-indexes-mixed",
        chunk(
            entry(0, "c0", S, ""),
            entry(1, "c1", S, ""),
            entry(1, args=Y1),
            entry(0, args=X1),
            entry(0, args=X2),
            entry(1, args=Y2),
        ),
        calls=TWO,
    ),
    row_without_end(
        "whole-in-one-chunk-with-the-reason",
        chunk(entry(0, "c0", S, XT), entry(1, "c1", S, YT), role="assistant", finish="tool_calls"),
        calls=TWO,
    ),
    # --- the name
    row(
        "name-repeated",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, ABSENT, S, X1)),
        chunk(entry(0, ABSENT, S, X2)),
    ),
    row(
        "name-repeated-no-id",
        chunk(entry(0, ABSENT, S, "")),
        chunk(entry(0, ABSENT, S, X1)),
        chunk(entry(0, ABSENT, S, X2)),
        calls=MINTED,
    ),
    row(
        "name-repeated-no-index-no-id",
        chunk(entry(name=S, args=X1)),
        chunk(entry(name=S, args=X2)),
        calls=MINTED,
    ),
    row(
        "name-in-pieces",
        chunk(entry(0, "c0", "web_")),
        chunk(entry(0, name="search")),
        chunk(entry(0, args=XT)),
    ),
    row(
        "name-in-pieces-with-empty-arguments",
        chunk(entry(0, "c0", "web_", "")),
        chunk(entry(0, ABSENT, "search", "")),
        chunk(entry(0, args=XT)),
    ),
    row(
        "name-in-pieces-with-null-arguments",
        chunk(entry(0, "c0", "web_", None)),
        chunk(entry(0, None, "search", None)),
        chunk(entry(0, args=XT)),
    ),
    row(
        "name-in-pieces-id-repeated",
        chunk(entry(0, "c0", "web_", "")),
        chunk(entry(0, "c0", "search", "")),
        chunk(entry(0, "c0", args=XT)),
    ),
    row(
        "name-in-pieces-last-one-with-arguments",
        chunk(entry(0, "c0", "web_", "")),
        chunk(entry(0, ABSENT, "search", XT)),
    ),
    row(
        "name-in-three-pieces",
        chunk(entry(0, "c0", "we")),
        chunk(entry(0, name="b_sea")),
        chunk(entry(0, name="rch")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
    ),
    row(
        "name-in-pieces-parallel",
        chunk(entry(0, "c0", "web_")),
        chunk(entry(0, name="search")),
        chunk(entry(0, args=XT)),
        chunk(entry(1, "c1", "web_")),
        chunk(entry(1, name="search")),
        chunk(entry(1, args=YT)),
        calls=TWO,
    ),
    row(
        "name-in-pieces-no-arguments-at-all",
        chunk(entry(0, "c0", "web_")),
        chunk(entry(0, name="search")),
        calls=[("c0", S, {})],
    ),
    row(
        "name-in-pieces-no-id",
        chunk(entry(0, name="web_")),
        chunk(entry(0, name="search")),
        chunk(entry(0, args=XT)),
        calls=MINTED,
    ),
    row(
        "name-after-arguments",
        chunk(entry(0, "c0", args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, name=S)),
    ),
    row("name-after-all-arguments", chunk(entry(0, "c0", ABSENT, XT)), chunk(entry(0, ABSENT, S))),
    row(
        "name-after-some-arguments", chunk(entry(0, "c0", None, X1)), chunk(entry(0, ABSENT, S, X2))
    ),
    row(
        "name-after-arguments-blank-first",
        chunk(entry(0, "c0", "", X1)),
        chunk(entry(0, ABSENT, S, X2)),
    ),
    row(
        "name-after-arguments-no-id",
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, name=S)),
        calls=MINTED,
    ),
    row(
        "name-after-arguments-parallel",
        chunk(entry(0, "c0", args=XT)),
        chunk(entry(0, name=S)),
        chunk(entry(1, "c1", args=YT)),
        chunk(entry(1, name=S)),
        calls=TWO,
    ),
    # --- the arguments
    row("arguments-object", chunk(entry(0, "c0", S, X))),
    row("arguments-object-parallel", chunk(entry(0, "c0", S, X), entry(1, "c1", S, Y)), calls=TWO),
    row(
        "arguments-object-no-index-no-id",
        chunk(entry(name=S, args=X), entry(name=S, args=Y)),
        calls=MINTED2,
    ),
    row(
        "arguments-object-split",
        chunk(entry(0, "c0", S, {"q": "x"})),
        chunk(entry(0, args={"n": 1})),
        calls=[("c0", S, {"q": "x", "n": 1})],
    ),
    row(
        "arguments-object-split-deep",
        chunk(entry(0, "c0", S, {"a": {"b": 1}})),
        chunk(entry(0, args={"a": {"c": 2}})),
        calls=[("c0", S, {"a": {"b": 1, "c": 2}})],
    ),
    row("arguments-object-resent", chunk(entry(0, "c0", S, X)), chunk(entry(0, "c0", S, X))),
    row("arguments-object-after-the-start", chunk(entry(0, "c0", S, "")), chunk(entry(0, args=X))),
    row("arguments-object-after-null", chunk(entry(0, "c0", S, None)), chunk(entry(0, args=X))),
    row("arguments-object-empty-first", chunk(entry(0, "c0", S, {})), chunk(entry(0, args=X))),
    row(
        "arguments-object-empty-then-text",
        chunk(entry(0, "c0", S, {})),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
    ),
    row("arguments-object-empty-only", chunk(entry(0, "c0", S, {})), calls=[("c0", S, {})]),
    row(
        "arguments-cumulative",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, args='{"q":')),
        chunk(entry(0, args='{"q":"x')),
        chunk(entry(0, args=XT)),
    ),
    row(
        "arguments-cumulative-from-a-brace",
        chunk(entry(0, "c0", S, "{")),
        chunk(entry(0, args='{"q"')),
        chunk(entry(0, args='{"q":"x"')),
        chunk(entry(0, args=XT)),
    ),
    row(
        "arguments-cumulative-all-repeated",
        chunk(entry(0, "c0", S, "")),
        chunk(entry(0, "c0", S, '{"q"')),
        chunk(entry(0, "c0", S, '{"q":"x')),
        chunk(entry(0, "c0", S, XT)),
    ),
    row(
        "arguments-cumulative-last-twice",
        chunk(entry(0, "c0", S, '{"q"')),
        chunk(entry(0, args='{"q":"x')),
        chunk(entry(0, args=XT)),
        chunk(entry(0, args=XT)),
    ),
    row(
        "arguments-cumulative-parallel",
        chunk(entry(0, "c0", S, '{"q":')),
        chunk(entry(0, args=XT)),
        chunk(entry(1, "c1", S, '{"q":')),
        chunk(entry(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-cumulative-interleaved",
        chunk(entry(0, "c0", S, '{"q":')),
        chunk(entry(1, "c1", S, '{"q":')),
        chunk(entry(0, args=XT)),
        chunk(entry(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-cumulative-nested",
        chunk(entry(0, "c0", S, '{"a":')),
        chunk(entry(0, args='{"a":{"b":')),
        chunk(entry(0, args='{"a":{"b":1}')),
        chunk(entry(0, args='{"a":{"b":1}}')),
        calls=[("c0", S, {"a": {"b": 1}})],
    ),
    row(
        "arguments-resent-whole",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, args=XT)),
    ),
    row(
        "arguments-resent-whole-with-the-id",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, "c0", S, XT)),
    ),
    row("arguments-resent-whole-at-once", chunk(entry(0, "c0", S, XT)), chunk(entry(0, args=XT))),
    row(
        "arguments-resent-whole-at-once-with-the-id",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(0, "c0", S, XT)),
    ),
    row(
        "arguments-resent-whole-no-index",
        chunk(entry(ABSENT, "c0", S, X1)),
        chunk(entry(args=X2)),
        chunk(entry(ABSENT, "c0", args=XT)),
    ),
    row(
        "arguments-resent-whole-parallel",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(1, "c1", S, YT)),
        chunk(entry(0, args=XT), entry(1, args=YT)),
        calls=TWO,
    ),
    row(
        "arguments-resent-whole-otherwise-spaced",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, args='{"q": "x"}')),
    ),
    row_without_end(
        "arguments-resent-whole-with-the-reason",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(0, args=XT), finish="tool_calls"),
    ),
    row("arguments-braces-first", chunk(entry(0, "c0", S, "{}")), chunk(entry(0, args=XT))),
    row(
        "arguments-braces-first-then-fragments",
        chunk(entry(0, "c0", S, "{}")),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
    ),
    row(
        "arguments-braces-first-parallel",
        chunk(entry(0, "c0", S, "{}"), entry(1, "c1", S, "{}")),
        chunk(entry(0, args=XT), entry(1, args=YT)),
        calls=TWO,
    ),
    row("arguments-braces-only", chunk(entry(0, "c0", S, "{}")), calls=[("c0", S, {})]),
    row(
        "arguments-braces-twice",
        chunk(entry(0, "c0", S, "{}")),
        chunk(entry(0, args="{}")),
        calls=[("c0", S, {})],
    ),
    row("arguments-too-many-braces", chunk(entry(0, "c0", S, XT)), chunk(entry(0, args="}"))),
    row("arguments-empty", chunk(entry(0, "c0", S, "")), calls=[("c0", S, {})]),
    row("arguments-null", chunk(entry(0, "c0", S, None)), calls=[("c0", S, {})]),
    row("arguments-missing", chunk(entry(0, "c0", S)), calls=[("c0", S, {})]),
    row(
        "arguments-empty-parallel",
        chunk(entry(0, "c0", S, ""), entry(1, "c1", S, "")),
        calls=[("c0", S, {}), ("c1", S, {})],
    ),
    row(
        "arguments-empty-no-id-parallel",
        chunk(entry(0, name=S), entry(1, name=S)),
        calls=[(None, S, {}), (None, S, {})],
    ),
    row(
        "arguments-empty-in-between",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args="")),
        chunk(entry(0, args=None)),
        chunk(entry(0)),
        chunk(entry(0, args=X2)),
    ),
    row(
        "arguments-never-valid",
        chunk(entry(0, "c0", S, '{"q":')),
        chunk(entry(0, args="x}")),
        calls=[("c0", S, '{"q":x}')],
    ),
    # --- why it stopped
    row_without_end("reason-stop", chunk(entry(0, "c0", S, XT)), chunk(finish="stop")),
    row_without_end(
        "reason-end-turn", chunk(entry(0, "c0", S, XT)), chunk(finish="end_turn"), stop=ANY
    ),
    row_without_end("reason-missing", chunk(entry(0, "c0", S, XT))),
    row_without_end(
        "reason-missing-parallel-fragments",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, args=X2)),
        chunk(entry(1, "c1", S, YT)),
        calls=TWO,
    ),
    row_without_end(
        "reason-on-the-chunk-with-the-call", chunk(entry(0, "c0", S, XT), finish="tool_calls")
    ),
    row_without_end(
        "reason-stop-on-the-chunk-with-the-call", chunk(entry(0, "c0", S, XT), finish="stop")
    ),
    row_without_end(
        "reason-before-the-arguments-end",
        chunk(entry(0, "c0", S, X1), finish="tool_calls"),
        chunk(entry(0, args=X2)),
    ),
    row_without_end(
        "reason-before-the-next-call",
        chunk(entry(0, "c0", S, XT), finish="tool_calls"),
        chunk(entry(1, "c1", S, YT), finish="tool_calls"),
        calls=TWO,
    ),
    row_without_end(
        "reason-before-everything-else",
        chunk(entry(0, "c0", S, ""), finish="stop"),
        chunk(entry(0, args=X1)),
        chunk(entry(0, args=X2)),
        chunk(finish="tool_calls"),
    ),
    row_without_end(
        "reason-twice",
        chunk(entry(0, "c0", S, XT)),
        chunk(finish="tool_calls"),
        chunk(finish="stop"),
    ),
    row_without_end(
        "reason-function-call-on-tool-calls",
        chunk(entry(0, "c0", S, XT)),
        chunk(finish="function_call"),
    ),
    row_without_end(
        "reason-length-in-mid-call",
        chunk(entry(0, "c0", S, X1)),
        chunk(finish="length"),
        calls=[("c0", S, X1)],
        stop=ANY,
    ),
    row_without_end(
        "reason-length-after-a-whole-call",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(1, "c1", S, Y1)),
        chunk(finish="length"),
        calls=[("c0", S, X), ("c1", S, Y1)],
        stop=ANY,
    ),
    row_without_end(
        "reason-tool-calls-without-calls",
        chunk(content="Hi."),
        chunk(finish="tool_calls"),
        calls=(),
        text="Hi.",
        stop=ANY,
    ),
    # --- chunks
    row_without_end(
        "empty-list-in-text",
        chunk(content="Hi", tool_calls=[]),
        chunk(content="!", tool_calls=[]),
        chunk(finish="stop"),
        calls=(),
        text="Hi!",
        stop="stop",
    ),
    row_without_end(
        "null-in-text",
        chunk(content="Hi", tool_calls=None, function_call=None),
        chunk(finish="stop"),
        calls=(),
        text="Hi",
        stop="stop",
    ),
    row_without_end(
        "blank-role",
        chunk(role="", content="Hi"),
        chunk(role="", content="!"),
        chunk(role="", content="", finish="stop"),
        calls=(),
        text="Hi!",
        stop="stop",
    ),
    row(
        "blank-role-on-call",
        chunk(entry(0, "c0", S, X1), role=""),
        chunk(entry(0, args=X2), role="", content=""),
    ),
    row(
        "content-blank-beside-calls",
        chunk(entry(0, "c0", S, X1), content=""),
        chunk(entry(0, args=X2), content=None),
    ),
    row(
        "chunk-id-differs",
        chunk(entry(0, "c0", S, ""), id="a"),
        chunk(entry(0, args=X1), id="b"),
        chunk(entry(0, args=X2), id="c"),
    ),
    row(
        "chunk-id-differs-no-ids",
        chunk(entry(0, name=S, args=XT), id="a"),
        chunk(entry(1, name=S, args=""), id="b"),
        chunk(entry(1, args=YT), id="c"),
        calls=MINTED2,
    ),
    row(
        "chunk-id-blank",
        chunk(entry(0, name=S, args=XT), id=""),
        chunk(entry(1, name=S, args=YT), id=""),
        calls=MINTED2,
    ),
    row_without_end(
        "usage-only-chunk",
        chunk(entry(0, "c0", S, XT)),
        END,
        with_usage({**END, "choices": []}, 5),
        usage=(3, 5),
    ),
    row_without_end(
        "usage-only-chunk-without-choices",
        chunk(entry(0, "c0", S, XT)),
        END,
        with_usage({"id": "chatcmpl-1"}, 5),
        usage=(3, 5),
    ),
    row_without_end(
        "usage-on-every-chunk",
        with_usage(chunk(entry(0, "c0", S, XT)), 1),
        with_usage(chunk(entry(0, args="")), 2),
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
        chunk(entry(0, "c0", S, XT)),
    ),
    row(
        "chunk-without-delta",
        {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": None}]},
        chunk(entry(0, "c0", S, XT)),
        {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": None, "finish_reason": None}]},
    ),
    row("entry-of-nothing", chunk(entry(0, "c0", S, XT)), chunk({}), chunk(entry(0))),
    # --- one call the old way
    row_without_end(
        "function-call",
        chunk(function_call={"name": S, "arguments": ""}),
        chunk(function_call={"arguments": X1}),
        chunk(function_call={"arguments": X2}),
        chunk(finish="function_call"),
        calls=MINTED,
    ),
    row_without_end(
        "function-call-whole",
        chunk(function_call={"name": S, "arguments": XT}),
        chunk(finish="function_call"),
        calls=MINTED,
    ),
    row_without_end(
        "function-call-name-repeated",
        chunk(function_call={"name": S, "arguments": X1}),
        chunk(function_call={"name": S, "arguments": X2}),
        chunk(finish="stop"),
        calls=MINTED,
    ),
    # --- several candidates
    row_without_end(
        "candidates",
        chunk(entry(0, "c0", S, X1)),
        chunk(entry(0, "c1", S, Y1), choice=1),
        chunk(entry(0, args=X2)),
        chunk(entry(0, args=Y2), choice=1),
        END,
        chunk(finish="tool_calls", choice=1),
        others=(("c1", S, Y),),
    ),
    row_without_end(
        "candidates-without-ids",
        chunk(entry(0, name=S, args=X1)),
        chunk(entry(0, name=S, args=Y1), choice=1),
        chunk(entry(0, args=X2)),
        chunk(entry(0, args=Y2), choice=1),
        END,
        chunk(finish="tool_calls", choice=1),
        calls=MINTED,
        others=((None, S, Y),),
    ),
    row_without_end(
        "candidates-one-of-which-calls",
        chunk(content="Hi."),
        chunk(entry(0, "c1", S, YT), choice=1),
        chunk(finish="stop"),
        chunk(finish="tool_calls", choice=1),
        calls=(),
        text="Hi.",
        stop="stop",
        others=(("c1", S, Y),),
    ),
    row_without_end(
        "candidates-the-second-first",
        chunk(entry(0, "c1", S, YT), choice=1),
        chunk(entry(0, "c0", S, XT)),
        chunk(finish="tool_calls", choice=1),
        END,
        others=(("c1", S, Y),),
    ),
    # --- broken off
    row_without_end(
        "cut-in-mid-arguments",
        chunk(entry(0, "c0", S, X1)),
        calls=[("c0", S, X1)],
        broken=True,
        done=False,
    ),
    row_without_end(
        "cut-in-mid-arguments-of-the-second",
        chunk(entry(0, "c0", S, XT)),
        chunk(entry(1, "c1", S, Y1)),
        calls=[("c0", S, X), ("c1", S, Y1)],
        broken=True,
        done=False,
    ),
    row_without_end(
        "cut-in-an-event",
        chunk(entry(0, "c0", S, X1)),
        calls=[("c0", S, X1)],
        broken=True,
        done=False,
        raw=b'data: {"id":"chatc',
    ),
    row_without_end(
        "cut-after-whole-arguments", chunk(entry(0, "c0", S, XT)), broken=True, done=False
    ),
    row_without_end(
        "cut-after-the-name",
        chunk(entry(0, "c0", S, "")),
        calls=[("c0", S, "")],
        broken=True,
        done=False,
    ),
    row_without_end(
        "cut-after-the-name-no-id",
        chunk(entry(0, name=S)),
        calls=[(None, S, "")],
        broken=True,
        done=False,
    ),
    row_without_end(
        "cut-without-an-id",
        chunk(entry(0, name=S, args=X1)),
        calls=[(None, S, X1)],
        broken=True,
        done=False,
    ),
    row_without_end(
        "cut-in-text", chunk(content="Hel"), calls=(), text="Hel", broken=True, done=False
    ),
    row_without_end(
        "cut-in-cumulative-arguments",
        chunk(entry(0, "c0", S, "{")),
        chunk(entry(0, args='{"q"')),
        chunk(entry(0, args='{"q":"x')),
        calls=[("c0", S, '{"q":"x')],
        broken=True,
        done=False,
    ),
    row_without_end(
        "error-in-mid-arguments",
        chunk(entry(0, "c0", S, X1)),
        {"error": {"message": "overloaded", "type": "server_error"}},
        calls=[("c0", S, X1)],
        broken=True,
    ),
    row_without_end(
        "error-in-mid-arguments-then-done-twice",
        chunk(entry(0, "c0", S, X1)),
        {"error": {"message": "overloaded"}},
        calls=[("c0", S, X1)],
        broken=True,
        raw=b"data: [DONE]\n\n",
    ),
    row_without_end(
        "error-that-is-a-text",
        chunk(content="Hel"),
        {"error": "overloaded"},
        calls=(),
        text="Hel",
        broken=True,
    ),
    row_without_end(
        "error-after-the-calls",
        chunk(entry(0, "c0", S, XT)),
        {"error": {"message": "overloaded"}},
        broken=True,
    ),
    # --- the end
    row_without_end("end-without-done", chunk(entry(0, "c0", S, XT)), END, done=False),
    row_without_end(
        "end-with-done-twice", chunk(entry(0, "c0", S, XT)), END, raw=b"data: [DONE]\n\n"
    ),
    # --- unknown fields
    row(
        "unknown-field-on-a-call",
        chunk(entry(0, "c0", S, XT, extra_content={"google": {"thought_signature": "sig"}})),
    ),
    row(
        "reasoning-content",
        chunk(reasoning_content="Hm"),
        chunk(reasoning_content="m."),
        chunk(entry(0, "c0", S, XT)),
    ),
    row("reasoning", chunk(reasoning="Hmm."), chunk(entry(0, "c0", S, XT))),
)


def stream_bytes(row: IrregularStream, *, crlf: bool = False) -> bytes:
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
    row: IrregularStream,
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


def neutral_events(row: IrregularStream) -> list[Event]:
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
def test_the_folded_body_has_the_calls(row: IrregularStream) -> None:
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
def test_the_folded_body_does_not_depend_on_pieces_or_framing(row: IrregularStream) -> None:
    stream = stream_bytes(row)
    body = fold(stream, SOURCE)
    assert fold((stream[i : i + 1] for i in range(len(stream))), SOURCE) == body
    assert fold(stream_bytes(row, crlf=True), SOURCE) == body
    if not row.raw and (
        not row.done or any('finish_reason": "' in json.dumps(chunk) for chunk in row.chunks)
    ):
        assert fold(list(row.chunks), SOURCE) == body


def target_id(target: str, row: IrregularStream) -> str:
    return target


def assert_translated(row: IrregularStream, target: str) -> None:
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


@rows("target, row", [(target, row) for target in TARGETS for row in CORPUS], group=target_id)
def test_every_other_wire_gets_the_calls(target: str, row: IrregularStream) -> None:
    assert_translated(row, target)


@rows(
    "target, row",
    [(target, row) for target in (TARGETS if DEEP else ("anthropic",)) for row in CORPUS],
    group=target_id,
)
def test_single_bytes_give_another_wire_the_same_stream(target: str, row: IrregularStream) -> None:
    stream = stream_bytes(row)
    single = (stream[i : i + 1] for i in range(len(stream)))
    assert b"".join(restream(single, SOURCE, target)) == b"".join(restream(stream, SOURCE, target))


@rows("row", CORPUS)
def test_on_their_own_wire_the_chunks_are_unchanged(row: IrregularStream) -> None:
    assert list(restream(stream_bytes(row), SOURCE, SOURCE, framed=False)) == list(row.chunks)


@rows("row", CORPUS)
def test_the_neutral_events_open_grow_and_close_each_call_once(row: IrregularStream) -> None:
    calls: dict[int, tuple[Call, list[str], int]] = {}
    ends: dict[int, PartEnd] = {}
    found: list[tuple[Call, str, bool, int]] = []
    events = neutral_events(row)
    open_slots: set[int] = set()
    for event in events:
        match event:
            case PartStart(slot=slot, part=part, choice=choice):
                assert slot not in open_slots
                open_slots.add(slot)
                if isinstance(part, Call):
                    assert part.id and part.name
                    calls[slot] = (part, [], choice)
            case PartDelta(slot=slot, text=text):
                assert slot in open_slots and slot not in ends
                if slot in calls:
                    calls[slot][1].append(text)
            case PartEnd(slot=slot):
                assert slot in open_slots and slot not in ends
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
    assert set(ends) == open_slots
    assert len([call for call in found if not call[3]]) == len(row.calls)
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
def test_a_cut_stream_ends_in_an_error_that_says_so(row: IrregularStream) -> None:
    error = neutral_events(row)[-1]
    assert isinstance(error, StreamError) and error.cut


@rows("row", [row for row in CORPUS if row.name.startswith("error")])
def test_an_error_record_keeps_its_message(row: IrregularStream) -> None:
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
    chunks = [chunk(entry(0, "c0", args='{"q":"needle"}')), END]
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
    (parsed_call,) = decode(fold(b"".join(stream), target), target, "response").calls()
    assert stream.ids.ids.get(parsed_call.id, parsed_call.id) == call.id


@rows(
    "row",
    [
        row
        for row in CORPUS
        if not row.broken and any(id is None for id, _, _ in (*row.calls, *row.others))
    ],
)
def test_minted_ids_are_those_of_the_body(row: IrregularStream) -> None:
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
    rest, arguments_text = arguments.finish()
    assert (text + rest if arguments_text is None else arguments_text) == expected
