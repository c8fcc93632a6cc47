"""The laws as oracles: each takes any input of a wire and raises if the library breaks a law on it.

Those about streams are in `stream_oracles.py`. `scripts/fuzz.py` looks for such inputs, and
`laws/test_finds.py` replays those in `tests/finds`. An input that the library refuses with a
documented error breaks no law. So oracles require only what holds of every input, also of garbage;
the laws in `laws/` require more, of known cases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import TypeAlias

from cases import leaves, same
from msgspec import Struct

from toolwire import (
    Call,
    Conversation,
    DecodeError,
    Opaque,
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
from toolwire.conversation.json import JSON, JsonPath, dump, parse, replace_lone_surrogates
from toolwire.conversation.model import Kind
from toolwire.conversation.parts import MARK
from toolwire.lint import check, repair

DOCUMENTED = (UsageError, DecodeError)
TOOL_PROTOCOLS = ("mcp", "oxp")
"""Wires that hold calls and results only, and no history."""
NO_NAMES: Mapping[str, str] = {}


class Input(Struct, frozen=True):
    """An input of the library: a body, or the events of a stream."""

    wire: str
    kind: Kind
    target: str
    body: JSON


Oracle: TypeAlias = "Callable[[Input], bool]"
"""Raises if a law is broken; False if the law asks nothing of this input."""


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


def arguments_of(call: Call) -> str:
    """The arguments in one spelling; some wires write no arguments as null, and some as nothing."""
    arguments = call.args.canonical
    return "{}" if arguments in ("", "null") else arguments


def _call_content(call: Call | None, names: Mapping[str, str] = NO_NAMES) -> str:
    """The name and arguments of a call; a repair replaces lone surrogates."""
    if call is None:
        return ""
    content = f"{names.get(call.name, call.name)} {arguments_of(call)}"
    return str(replace_lone_surrogates(content))


def _result_content(result: Result | None) -> str:
    return "" if result is None else "".join(result.text.split())


def results_that_moved(
    before: Conversation, after: Conversation, names: Mapping[str, str] = NO_NAMES
) -> list[str]:
    """Results that went to another call; `names` leads from fitted names to those before. Only calls and results whose content is unique count, and
    no calls without a name: a repair may give one the name of another. Calls whose content is new
    do not count: a repair may change arguments or give a name. Nor does a result that
    equals one that stayed, if there are more results than before (messages of an unknown role are
    read only once their role is repaired) or another result has other content than before. Nor does
    one that equals the result of a provider's tool, if the latter is text now. Nor does one with
    the id of a result that could not be read before: among results with one id, the order decides.
    """
    unread: list[object] = [part.value for part in before.parts() if isinstance(part, Opaque)]
    unread += [m.raw for m in before.messages if not any(isinstance(p, Result) for p in m.parts)]
    unread_ids = {
        call_id
        for value in unread
        if isinstance(value, dict) and isinstance(call_id := value.get("tool_call_id"), str)
    }
    calls = Counter(_call_content(call) for call in before.calls())
    for content, count in Counter(_call_content(call, names) for call in after.calls()).items():
        if calls[content]:
            calls[content] = max(calls[content], count)  # a repair may make arguments equal
    results = Counter(_result_content(result) for result in before.results())
    stayed: set[tuple[str, str]] = set()
    results_after = Counter(_result_content(result) for result in after.results())
    if results_after.total() > results.total() or results - results_after:
        stayed = {(_result_content(p.result), _call_content(p.call, names)) for p in after.pairs()}
    texts = "".join("".join(p.text for p in after.parts() if isinstance(p, Text)).split())
    owners = {
        _result_content(pair.result): _call_content(pair.call)
        for pair in before.pairs()
        if pair.result is not None
        and pair.call is not None
        and pair.call.name
        and pair.result.call_id not in unread_ids
        and not (pair.call.executor == "provider" and _result_content(pair.result) in texts)
    }
    return [
        f"{_result_content(pair.result)} belongs to {owners[_result_content(pair.result)]!r},"
        f" not to {_call_content(pair.call, names)!r}"
        for pair in after.pairs()
        if pair.call is not None
        and pair.result is not None
        and calls[_call_content(pair.call, names)] == 1
        and results[_result_content(pair.result)] == 1
        and _result_content(pair.result) in owners
        and owners[_result_content(pair.result)] != _call_content(pair.call, names)
        and (_result_content(pair.result), owners[_result_content(pair.result)]) not in stayed
        and not pair.result.text.startswith(MARK)
    ]


def count_of_client(parts: Sequence[Call | Result]) -> int:
    """The number of calls or results of the client."""
    return sum(part.executor == "client" for part in parts)


def count_unpaired(conversation: Conversation) -> tuple[int, int]:
    """The number of the client's calls without a result, and of its results without a call."""
    pairs = client_pairs(conversation)
    return sum(pair.result is None for pair in pairs), sum(pair.call is None for pair in pairs)


# --- bodies ---------------------------------------------------------------------------------------


def raises_only_documented_errors(given: Input) -> bool:
    """Every public function returns, or raises an error that it documents."""
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
    return True


def is_written_back_verbatim(given: Input) -> bool:
    """A body that can be read is written back unchanged."""
    conversation = read(given)
    if conversation is None:
        return False
    assert same(encode(conversation, given.wire, given.kind).body, given.body)
    return True


def every_half_is_in_one_pair(given: Input) -> bool:
    """Every call and every result stands in exactly one pair, under an id."""
    conversation = read(given)
    if conversation is None:
        return False
    pairs = conversation.pairs()
    calls = [id(pair.call) for pair in pairs if pair.call is not None]
    results = [id(pair.result) for pair in pairs if pair.result is not None]
    assert sorted(calls) == sorted(map(id, conversation.calls()))
    assert sorted(results) == sorted(map(id, conversation.results()))
    assert all(call.id for call in conversation.calls())
    assert all(result.call_id for result in conversation.results())
    return True


def translation_swaps_no_results(given: Input) -> bool:
    """No translation gives a result to another call, also there and back."""
    before = read(given)
    if before is None or given.kind != "request" or given.target in TOOL_PROTOCOLS:
        return False
    try:
        there = translate(given.body, given.wire, given.target)
        after = decode(there.json(), given.target)
        back = translate(there.body, given.target, given.wire, ids=there.ids)
        home = decode(back.json(), given.wire)
    except DOCUMENTED:
        return False
    expect_none(results_that_moved(before, after, there.ids.names))
    expect_none(results_that_moved(before, home))
    return True


def translation_has_nothing_to_fix(given: Input) -> bool:
    """`check` finds nothing to fix in a translation, and no error without a finding."""
    if read(given) is None or given.kind != "request" or given.target == given.wire:
        return False
    try:
        there = translate(given.body, given.wire, given.target)
    except DOCUMENTED:
        return False
    found = check(there.body, given.target)
    # Servers that do not parse arguments accept merged ones; to split them would be a guess.
    expect_none(
        [
            str(finding)
            for finding in found
            if finding.fix is not None and (finding.name, finding.fix) != ("args-merged", "unsafe")
        ]
    )
    reported = {finding.name for finding in there.findings}
    errors = {finding.name for finding in found if finding.severity == "error"}
    assert errors <= reported, "an error is not reported"
    return True


def repair_converges(given: Input) -> bool:
    """Repair reports every change, ends, swaps nothing and removes no half of a pair."""
    before = read(given)
    if before is None or given.kind != "request":
        return False
    for unsafe in (False, True):
        repaired = repair(given.body, given.wire, unsafe=unsafe)
        assert bool(repaired.changes) == (dump(repaired.body) != dump(given.body)), "unreported"
        again = repair(repaired.body, given.wire, unsafe=unsafe)
        assert (again.body, again.changes) == (repaired.body, []), "a second repair changes it"
        fixable = ("safe", "unsafe") if unsafe else ("safe",)
        expect_none([str(left) for left in repaired.findings if left.fix in fixable])
        after = decode(repaired.body, given.wire)
        open_calls, orphans = count_unpaired(after)
        # Calls and results in blocks of another wire are visible only after the repair.
        new_calls = max(0, count_of_client(after.calls()) - count_of_client(before.calls()))
        new_results = max(0, count_of_client(after.results()) - count_of_client(before.results()))
        if new_calls or new_results:
            # Beside them, a result without an id may be ambiguous.
            ambiguous = sum(pair.how in ("name", "order") for pair in client_pairs(before))
            new_calls, new_results = new_calls + ambiguous, new_results + ambiguous
        assert open_calls <= count_unpaired(before)[0] + new_calls, "a call lost its result"
        assert orphans <= count_unpaired(before)[1] + new_results, "a result lost its call"
        if not unsafe:
            expect_none(results_that_moved(before, after))
    return True


def cut_splits_no_pair(given: Input) -> bool:
    """A history that was cut has no orphan that the whole one has not."""
    before = read(given)
    if before is None or given.kind != "request":
        return False
    if given.wire in TOOL_PROTOCOLS:
        return False
    for count in (1, 2, 3, 5):
        try:
            after = decode(cut(given.body, given.wire, messages=count).json(), given.wire)
        except DOCUMENTED:
            return False
        expect_none(results_that_moved(before, after))
        orphans = {_result_content(p.result) for p in client_pairs(before) if p.call is None}
        expect_none(
            [
                f"a new orphan: {_result_content(pair.result)}"
                for pair in client_pairs(after)
                if pair.call is None and _result_content(pair.result) not in orphans
            ]
        )
    return True


def resume_loses_no_result(given: Input) -> bool:
    """Every pending call gets the result that was given for it."""
    before = read(given)
    if before is None or given.kind != "request":
        return False
    if given.wire in TOOL_PROTOCOLS:
        return False
    calls = pending(given.body, given.wire)
    results: dict[str, str] = {call.id: f"result {n}" for n, call in enumerate(calls)}
    if not calls or len(results) < len(calls):
        return False
    try:
        after = decode(resume(given.body, given.wire, results).json(), given.wire)
    except DOCUMENTED:
        return False
    # A decision about an approval has the text as its reason.
    found = {
        text: pair.call
        for pair in after.pairs()
        if pair.result is not None
        for text in re.findall(r"result \d+", pair.result.text)
    }
    for n, call in enumerate(calls):
        owner = found.get(f"result {n}")
        assert owner is not None, f"the result of {call.id} has no call"
        assert owner.name == call.name, f"the result of {call.id} went to {owner.id}"
    return True


def translation_reports_what_it_loses(given: Input) -> bool:
    """The client's calls and results are still there after a translation, or it reports them."""
    before = read(given)
    if before is None or before.wire == resolve(given.target)[0].name:
        return False
    try:
        there = translate(given.body, given.wire, given.target, given.kind)
        after = decode(there.json(), given.target, given.kind)
    except DOCUMENTED:
        return False
    calls = Counter(_call_content(call, there.ids.names) for call in after.calls())
    texts = _joined_texts(after) + "".join(there.json().decode().split())
    reported = [loss.path for loss in there.losses]
    reported += [change.path for change in there.changes]
    reported += [finding.path for finding in there.findings]
    lost: list[str] = []
    for part in before.parts():
        if not isinstance(part, Call | Result) or part.executor != "client":
            continue
        if _is_reported(part.path, reported):
            continue
        if isinstance(part, Result):
            is_verbatim = _result_content(part) in texts
            if not is_verbatim and any(word not in texts for word in _words(part)):
                lost.append(f"{part.path}: the result {part.text}")
        elif calls[_call_content(part)]:
            calls[_call_content(part)] -= 1
        else:
            lost.append(f"{part.path}: the call {_call_content(part)}")
    expect_none(lost)
    return True


def repair_reports_what_it_loses(given: Input) -> bool:
    """The words of texts and results are still there after a repair, or a change reports them."""
    before = read(given)
    if before is None or given.kind != "request":
        return False
    repaired = repair(given.body, given.wire)
    if not repaired.changes:
        return False
    after = decode(repaired.body, given.wire)
    values = [value for _, value in leaves(repaired.body) if isinstance(value, str)]
    texts = _joined_texts(after) + "".join("".join(values).split())
    reported = [change.path for change in repaired.changes]
    lost: list[str] = []
    for part in before.parts():
        words: list[str] = []
        if isinstance(part, Text):
            words = re.findall(r"\w+", str(replace_lone_surrogates(part.text)))
        elif isinstance(part, Result) and part.executor == "client":
            words = _words(part) if _result_content(part) not in texts else []
        if any(word not in texts for word in words) and not _is_reported(part.path, reported):
            lost.append(f"{part.path}: {words}")
    expect_none(lost)
    return True


def _words(result: Result) -> list[str]:
    """The words of a result without its media; of JSON, which another wire may write or read in
    another way, the words of the texts in it."""
    output: JSON
    if isinstance(result.output, tuple):
        output = [part.text for part in result.output if isinstance(part, Text)]
    else:
        output = result.output
        with suppress(ValueError):
            output = parse(output) if isinstance(output, str) else output
    texts = [value for _, value in leaves(output) if isinstance(value, str)]
    return [word for text in texts for word in re.findall(r"\w+", text)]


def _joined_texts(conversation: Conversation) -> str:
    """All text of a conversation, without blanks."""
    texts = [
        part.text for part in conversation.parts() if isinstance(part, Text | Reasoning | Result)
    ]
    return "".join("\n".join(texts).split())


def _is_reported(path: JsonPath, reported: list[JsonPath]) -> bool:
    """True if a report is about a path, something in it, or something around it but the body."""
    return any(
        other[: len(path)] == path or (other and other == path[: len(other)]) for other in reported
    )


BODY_ORACLES: dict[str, Oracle] = {
    oracle.__name__: oracle
    for oracle in (
        raises_only_documented_errors,
        is_written_back_verbatim,
        every_half_is_in_one_pair,
        translation_swaps_no_results,
        translation_has_nothing_to_fix,
        translation_reports_what_it_loses,
        repair_converges,
        repair_reports_what_it_loses,
        cut_splits_no_pair,
        resume_loses_no_result,
    )
}
