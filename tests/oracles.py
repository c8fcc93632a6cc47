"""The laws as oracles: each takes any input of a wire and raises if the library breaks a law on it.

`scripts/fuzz.py` looks for such inputs, and `laws/test_finds.py` replays those in `tests/finds`. An
input that the library refuses with a documented error breaks no law. So oracles ask only for what
holds of every input, also of garbage: the laws in `laws/` ask more, of cases that are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import TypeAlias

from cases import facts, nodes, same
from msgspec import UNSET, Struct

from toolwire import (
    Call,
    Conversation,
    DecodeError,
    Pair,
    Reasoning,
    Result,
    Text,
    UsageError,
    abandon,
    cut,
    decode,
    detect,
    encode,
    pending,
    resume,
    translate,
)
from toolwire.codec import resolve
from toolwire.conversation.json import JSON, dump, get
from toolwire.conversation.model import Kind
from toolwire.lint import check, repair
from toolwire.lint.fixes.transforms import MARK
from toolwire.streaming.restream import fold, restream
from toolwire.wires import wire as named_wire

CUT_OFF = (" ", '{"_raw":" "}')
"""Arguments of a call whose stream broke off before the first of them."""
ARGUMENTS_DIFFER = "the final arguments differ from the deltas that were sent; the deltas stay"
AMBIGUOUS = "ambiguous-same-name"
DOCUMENTED = (UsageError, DecodeError)
TOOL_PROTOCOLS = ("mcp", "oxp")
"""Wires that hold calls and results only, and no history."""


class Input(Struct, frozen=True):
    """An input of the library: a body, or the events of a stream."""

    wire: str
    kind: Kind
    target: str
    body: JSON


Oracle: TypeAlias = "Callable[[Input], None]"


# --- helpers --------------------------------------------------------------------------------------


def expect_none(violations: list[str]) -> None:
    """Raise if there are violations; without pytest, an assertion would not show them."""
    assert not violations, "; ".join(violations)


def read(given: Input) -> Conversation | None:
    """The conversation of a body; None if it is refused."""
    try:
        return decode(given.body, given.wire, given.kind)
    except DOCUMENTED:
        return None


def client_pairs(conversation: Conversation) -> list[Pair]:
    """The pairs of calls and results of the client, with orphans and open calls."""
    return [
        pair
        for pair in conversation.pairs()
        if all(half is None or half.executor == "client" for half in (pair.call, pair.result))
    ]


def _call_content(call: Call | None) -> str:
    if call is None:
        return ""
    arguments = call.args.canonical
    return f"{call.name} {'{}' if arguments in ('', 'null') else arguments}"  # no arguments


def _result_content(result: Result | None) -> str:
    return "" if result is None else "".join(result.text.split())


def results_that_moved(before: Conversation, after: Conversation) -> list[str]:
    """Results that went to another call. Only calls and results whose content is unique count, and
    no calls without a name: a repair may give one the name of another.
    """
    calls = Counter(_call_content(call) for call in before.calls())
    results = Counter(_result_content(result) for result in before.results())
    owners = {
        _result_content(pair.result): _call_content(pair.call)
        for pair in before.pairs()
        if pair.result is not None and pair.call is not None and pair.call.name
    }
    return [
        f"{_result_content(pair.result)} belongs to {owners[_result_content(pair.result)]!r},"
        f" not to {_call_content(pair.call)!r}"
        for pair in after.pairs()
        if pair.call is not None
        and pair.result is not None
        and calls[_call_content(pair.call)] == 1
        and results[_result_content(pair.result)] == 1
        and _result_content(pair.result) in owners
        and owners[_result_content(pair.result)] != _call_content(pair.call)
        and not pair.result.text.startswith(MARK)
    ]


def count_unpaired(conversation: Conversation) -> tuple[int, int]:
    """The number of the client's calls without a result, and of its results without a call."""
    pairs = client_pairs(conversation)
    return sum(pair.result is None for pair in pairs), sum(pair.call is None for pair in pairs)


# --- bodies ---------------------------------------------------------------------------------------


def raises_only_documented_errors(given: Input) -> None:
    """Every public function answers, or raises an error that it documents."""
    before = deepcopy(given.body)
    wire, kind = given.wire, given.kind
    actions: list[Callable[[], object]] = [
        lambda: detect(given.body),
        lambda: encode(decode(given.body, wire, kind), given.target, kind).json(),
        lambda: translate(given.body, wire, given.target, kind).json(),
        lambda: check(given.body, wire, kind),
        lambda: check(given.body, wire, kind, target=given.target),
        lambda: repair(given.body, wire, kind),
    ]
    if kind == "request":
        actions += [
            lambda: repair(given.body, wire, unsafe=True),
            lambda: pending(given.body, wire),
            lambda: abandon(given.body, wire).json(),
            lambda: cut(given.body, wire, messages=2).json(),
            lambda: cut(given.body, wire, tokens=20).json(),
        ]
    for action in actions:
        try:
            action()
        except DOCUMENTED as error:
            assert error.why
    assert same(before, given.body), "the input was changed"


def is_written_back_verbatim(given: Input) -> None:
    """What can be read is written back as it was."""
    conversation = read(given)
    if conversation is not None:
        assert same(encode(conversation, given.wire, given.kind).body, given.body)


def every_half_is_in_one_pair(given: Input) -> None:
    """Every call and every result stands in exactly one pair, under an id."""
    conversation = read(given)
    if conversation is None:
        return
    pairs = conversation.pairs()
    calls = [id(pair.call) for pair in pairs if pair.call is not None]
    results = [id(pair.result) for pair in pairs if pair.result is not None]
    assert sorted(calls) == sorted(map(id, conversation.calls()))
    assert sorted(results) == sorted(map(id, conversation.results()))
    assert all(call.id for call in conversation.calls())
    assert all(result.call_id for result in conversation.results())


def translation_swaps_no_results(given: Input) -> None:
    """No translation gives a result to another call, also there and back."""
    before = read(given)
    if before is None or given.kind != "request" or given.target in TOOL_PROTOCOLS:
        return
    try:
        there = translate(given.body, given.wire, given.target)
        after = decode(there.json(), given.target)
        back = translate(there.body, given.target, given.wire, ids=there.ids)
        home = decode(back.json(), given.wire)
    except DOCUMENTED:
        return
    expect_none(results_that_moved(before, after))
    expect_none(results_that_moved(before, home))


def translation_has_nothing_to_fix(given: Input) -> None:
    """`check` finds nothing to fix in a translation, and no error without a finding."""
    if read(given) is None or given.kind != "request" or given.target == given.wire:
        return
    try:
        there = translate(given.body, given.wire, given.target)
    except DOCUMENTED:
        return
    found = check(there.body, given.target)
    if (given.wire, resolve(given.target)[0].name) == ("adk", "gemini"):
        # An id that ADK made is not sent to Gemini, even where pairing needs it (Known gaps).
        found = [finding for finding in found if finding.name != AMBIGUOUS]
    expect_none([str(finding) for finding in found if finding.fix is not None])
    reported = {finding.name for finding in there.findings}
    errors = {finding.name for finding in found if finding.severity == "error"}
    assert errors <= reported, "an error is not reported"


def repair_converges(given: Input) -> None:
    """Repair reports every change, ends, swaps nothing and removes no half of a pair."""
    before = read(given)
    if before is None or given.kind != "request":
        return
    for unsafe in (False, True):
        repaired = repair(given.body, given.wire, unsafe=unsafe)
        assert bool(repaired.changes) == (dump(repaired.body) != dump(given.body)), "unreported"
        again = repair(repaired.body, given.wire, unsafe=unsafe)
        assert (again.body, again.changes) == (repaired.body, []), "a second repair changes it"
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        expect_none([str(left) for left in repaired.findings if left.fix in fixable])
        after = decode(repaired.body, given.wire)
        assert count_unpaired(after)[0] <= count_unpaired(before)[0], "a call lost its result"
        assert count_unpaired(after)[1] <= count_unpaired(before)[1], "a result lost its call"
        if not unsafe:
            expect_none(results_that_moved(before, after))


def cut_splits_no_pair(given: Input) -> None:
    """A history that was cut has no orphan that the whole one has not."""
    before = read(given)
    if before is None or given.kind != "request":
        return
    if given.wire in TOOL_PROTOCOLS:
        return
    for count in (1, 2, 3, 5):
        try:
            after = decode(cut(given.body, given.wire, messages=count).json(), given.wire)
        except DOCUMENTED:
            return
        expect_none(results_that_moved(before, after))
        orphans = {_result_content(p.result) for p in client_pairs(before) if p.call is None}
        expect_none(
            [
                f"a new orphan: {_result_content(pair.result)}"
                for pair in client_pairs(after)
                if pair.call is None and _result_content(pair.result) not in orphans
            ]
        )


def resume_loses_no_result(given: Input) -> None:
    """Every pending call gets the result that was given for it."""
    before = read(given)
    if before is None or given.kind != "request":
        return
    if given.wire in TOOL_PROTOCOLS:
        return
    calls = pending(given.body, given.wire)
    results: dict[str, str] = {call.id: f"result {n}" for n, call in enumerate(calls)}
    if not calls or len(results) < len(calls):
        return
    try:
        after = decode(resume(given.body, given.wire, results).json(), given.wire)
    except DOCUMENTED:
        return
    found = {pair.result.text: pair.call for pair in after.pairs() if pair.result is not None}
    for n, call in enumerate(calls):
        owner = found.get(f"result {n}")
        assert owner is not None, f"the result of {call.id} has no call"
        assert owner.name == call.name, f"the result of {call.id} went to {owner.id}"


BODY_ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        raises_only_documented_errors,
        is_written_back_verbatim,
        every_half_is_in_one_pair,
        translation_swaps_no_results,
        translation_has_nothing_to_fix,
        repair_converges,
        cut_splits_no_pair,
        resume_loses_no_result,
    )
}


# --- streams --------------------------------------------------------------------------------------


def events_of(given: Input) -> list[JSON]:
    """The events of a stream."""
    assert isinstance(given.body, list)
    return given.body


def fold_or_none(given: Input) -> JSON:
    """The body of a stream; None if the stream is refused or broke off."""
    try:
        return fold(events_of(given), given.wire)
    except DecodeError as error:
        assert error.why
        return None


def contents(body: JSON, wire: str) -> tuple[list[tuple[str, str]], str, str]:
    """The calls, the text and the reasoning of an answer."""
    conversation = decode(body, wire, "response")
    parts = list(conversation.parts())
    calls = [(c.name, c.args.canonical) for c in conversation.calls() if c.executor == "client"]
    texts = [part.text for part in parts if isinstance(part, Text)]
    thoughts = [part.text for part in parts if isinstance(part, Reasoning)]
    return calls, "".join("".join(texts).split()), "".join("".join(thoughts).split())


def stream_raises_only_documented_errors(given: Input) -> None:
    """`fold` raises only DecodeError, `restream` nothing, and what it writes can be folded."""
    events = events_of(given)
    before = deepcopy(events)
    fold_or_none(given)
    stream = restream(events, given.wire, given.target)
    written = b"".join(stream)
    if given.target != given.wire:
        fold(written, given.target)
    assert all(loss.reason for loss in stream.losses)
    assert same(before, events), "the input was changed"


def bytes_may_be_cut_anywhere(given: Input) -> None:
    """The pieces in which bytes arrive do not change the output."""
    frame = _spec(given.wire)
    whole = b"".join(frame(event) for event in events_of(given) if isinstance(event, dict))
    if not whole:
        return
    expected = b"".join(restream(whole, given.wire, given.target))
    for size in (1, 7, 64):
        pieces = [whole[n : n + size] for n in range(0, len(whole), size)]
        assert b"".join(restream(pieces, given.wire, given.target)) == expected, size


def _is_plain_answer(body: JSON, wire: str) -> bool:
    """True if an answer is the assistant's, and its calls have names and readable arguments.

    What broke off is told in other ways by events than by a body. A client's result is no part of
    an answer: a stream writes it as a turn of its own, a body as a part of the message. A call whose
    approval is requested twice is one call on wires that keep the request in the call's part.
    """
    try:
        conversation = decode(body, wire, "response")
    except DOCUMENTED:
        return False
    if {message.role for message in conversation.messages} != {"assistant"}:
        return False
    if any(result.executor == "client" for result in conversation.results()):
        return False
    approvals = [call.approval_for for call in conversation.calls() if call.approval_for]
    return len(set(approvals)) == len(approvals) and all(
        call.name
        and not call.args.broken
        and isinstance(call.input, dict)
        and "_raw" not in call.input
        for call in conversation.calls()
    )


def stream_commutes(given: Input) -> None:
    """Folding what is restreamed gives the calls of the translated folded body."""
    exempt = facts(given.wire).exempt
    if given.target == given.wire or exempt.repeats_answer or exempt.keeps_arguments:
        return  # what is repeated may differ from what came before
    roles = [get(given.body, path) for path in nodes(given.body) if path[-1:] == ("role",)]
    if not all(role in ("assistant", "model") for role in roles):
        return  # an answer under another role holds no calls as a body
    body = fold_or_none(given)
    if body is None or not _is_plain_answer(body, given.wire):
        return
    if any(get(body, (key, 0, "index")) not in (UNSET, 0) for key in ("choices", "candidates")):
        return  # a stream waits for candidate 0 and reports the others; a body has the first one
    stream = restream(events_of(given), given.wire, given.target)
    there = fold(b"".join(stream), given.target)
    try:
        expected = contents(
            translate(body, given.wire, given.target, "response").body, given.target
        )
        found = contents(there, given.target)
    except DOCUMENTED:
        return
    if any(loss.reason == ARGUMENTS_DIFFER for loss in stream.losses):
        return  # a later value belongs before one that was sent, and this is reported
    calls = [(name, "{}" if text in CUT_OFF else text) for name, text in found[0]]
    assert calls == expected[0], f"{calls}, not {expected[0]}"


def _spec(wire: str) -> Callable[[dict[str, JSON]], bytes]:
    stream = named_wire(wire).stream
    assert stream is not None
    return stream.frame


STREAM_ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (stream_raises_only_documented_errors, bytes_may_be_cut_anywhere, stream_commutes)
}
ORACLES = {**BODY_ORACLES, **STREAM_ORACLES}
