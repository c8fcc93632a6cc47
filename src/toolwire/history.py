"""Edit a history between two turns: list pending calls, add their results, cut old messages.

No operation splits a pair: a result is placed where the target expects it, and a cut never parts a
call from its result, nor the calls of one turn from each other. Unedited content keeps its JSON.
This module knows no wire by name; profiles define what each target accepts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from toolwire.codec import Encoded, decode_in_full, encode, resolve
from toolwire.codec.body_shape import locate
from toolwire.conversation.json import Body, JsonPath, dump
from toolwire.conversation.minted_ids import needs_minted_ids
from toolwire.conversation.model import Conversation, Kind, Loss
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import APPROVAL, MARK, Call, Message, Output, Result, describe
from toolwire.errors import UsageError, require_type
from toolwire.lint import find_all
from toolwire.lint.facts import Facts, ToolTurn
from toolwire.lint.fixes.interrupted_calls import calls_as_text, calls_that_need_image, error_result
from toolwire.lint.fixes.result_placement import place_results
from toolwire.lint.fixes.transforms import INTERRUPTED
from toolwire.lint.ids.edits import all_ids, new_id, reassign_ids, with_id
from toolwire.wires.engine.specs import Block

BYTES_A_TOKEN = 4
"""The bytes of JSON that `cut` counts as one token: a cheap estimate, wrong by up to a third."""


# --- pending calls --------------------------------------------------------------------------------


def pending(body: Body, wire: str, kind: Kind = "request") -> list[Call]:
    """Return the client's calls at the end of a history that have no result yet.

    These are the open calls of the last turn with calls, if no assistant message follows it. An
    open call further back is an error in the history, which `check` reports.
    """
    return _pending_calls(_facts(body, wire, kind))


def abandon(body: Body, wire: str, reason: str | None = None) -> Encoded:
    """Add an error result to every pending call: the call was not run, and `reason`.

    The result is marked as added by toolwire, so that it is not mistaken for tool output. A call
    that only an image can answer becomes text instead. A call gets no result if an existing one may
    already belong to it: one without an id, or one of another call with the same id. Both are
    reported as losses.
    """
    facts = _facts(body, wire)
    ambiguous = PartSet(call for group in facts.ambiguous_groups for call in group.calls)
    calls = _pending_calls(facts)
    answered = {call.id for call in _recent_calls(facts) if call in facts.result_of}
    for call in calls:
        if call.id in answered:
            ambiguous.add(call)
    text = INTERRUPTED if reason is None else f"{MARK} {reason}"
    loss = "a result may belong to this call or to another, so the call is still pending"
    losses = [Loss(call.path, loss) for call in calls if call in ambiguous]
    certain = [call for call in calls if call not in ambiguous]
    as_text = calls_that_need_image(facts, certain)
    if as_text:
        losses += [
            Loss(call.path, "only an image can be its result: it is text now") for call in as_text
        ]
        facts = Facts(calls_as_text(facts, as_text, text), facts.profile)
    rewritten = PartSet(as_text)
    encoded = _add_results(
        facts,
        PartMap((call, error_result(call, text)) for call in certain if call not in rewritten),
    )
    encoded.losses += locate(losses, facts.conversation.source)
    return encoded


def resume(body: Body, wire: str, results: Mapping[str, Output | Result]) -> Encoded:
    """Add results to pending calls; calls without a result stay pending.

    Args:
        body: The history.
        wire: The wire, profile or provider of the body.
        results: The results by call id: text, parts or any JSON value, or a result made by
            `Call.result`, for errors.

    Raises:
        UsageError: No pending call has one of the ids, several calls of the turn have it, or the
            turn has a result, with this id or without one, that cannot be assigned to one call.
    """
    require_type(results, Mapping, "results by call id, as a dict")
    facts = _facts(body, wire)
    calls_by_id: dict[str, list[Call]] = {}
    for call in _pending_calls(facts):
        calls_by_id.setdefault(call.id, []).append(call)
    shared = Counter(call.id for call in _recent_calls(facts))
    unpaired = _unpaired_result_ids(facts)
    new_results: PartMap[Call, Result] = PartMap()
    for call_id, output in results.items():
        calls = calls_by_id.get(call_id, [])
        if not calls:
            names = (f"{call.id} ({call.name})" for group in calls_by_id.values() for call in group)
            listing = ", ".join(names) or "none"
            reason = f"no pending call has the id {call_id!r}; pending calls: {listing}"
            raise UsageError(reason, wire=wire)
        if shared[call_id] > 1:
            reason = f"{shared[call_id]} calls have the id {call_id!r}: repair the history first"
            raise UsageError(reason, wire=wire, path=calls[0].path)
        if call_id in unpaired:
            reason = (
                f"a result for {call_id!r} belongs to no certain call: repair the history first"
            )
            raise UsageError(reason, wire=wire, path=calls[0].path)
        new_results[calls[0]] = _make_result(calls[0], output, wire)
    encoded = _add_results(facts, new_results)
    _refuse_uncertain_pairs(facts, new_results, encoded)
    return encoded


def _refuse_uncertain_pairs(facts: Facts, results: PartMap[Call, Result], encoded: Encoded) -> None:
    """Raise if a reader of the written history would not give results to the same calls.

    A result without an id that belongs to no certain call may then belong to another one, or take
    the place of a new result: some blocks have no field for an id.
    """
    if not results or all(result.origin != "minted" for result in facts.results_without_call):
        return
    written = _facts_of(encoded, facts)
    for call, written_call in zip(facts.calls, written.calls, strict=True):
        expected = results.get(call, facts.result_of.get(call))
        if _text_of(expected) != _text_of(written.result_of.get(written_call)):
            reason = (
                f"a result without an id may belong to the call to {call.name or 'a tool'} or to"
                " another: repair the history first"
            )
            raise UsageError(reason, wire=facts.conversation.wire, path=call.path)


def _text_of(result: Result | None) -> str | None:
    return None if result is None else result.text


def _make_result(call: Call, output: Output | Result, wire: str) -> Result:
    if not isinstance(output, Result):
        return call.result(output)
    if output.call_id != call.id:
        reason = f"the result for the call {call.id} has the call id {output.call_id}"
        raise UsageError(reason, wire=wire, path=call.path)
    return call.result(output.output, error=output.error)


def _pending_calls(facts: Facts) -> list[Call]:
    turn = facts.turns[-1] if facts.turns else None
    if turn is None or not turn.last:
        return []
    server_calls = PartSet(facts.server_calls_as_client)
    return [call for call in turn.calls if call not in facts.result_of and call not in server_calls]


def _unpaired_result_ids(facts: Facts) -> set[str]:
    """Return the ids of unpaired results in the last turn."""
    followers = facts.turns[-1].follower_indexes if facts.turns else ()
    return {
        result.call_id
        for result in facts.results_without_call
        if facts.message_index(result) in followers
    }


def _recent_calls(facts: Facts) -> list[Call]:
    """Return the calls of clients and providers since the last turn with calls began, in messages
    of any role. Open approval requests of all turns count: a decision may be about any of them."""
    start = facts.turns[-1].caller_indexes[0] if facts.turns else 0
    return [
        call
        for call in facts.all_calls
        if facts.message_index(call) >= start
        or (call.family == APPROVAL and call not in facts.result_of)
    ]


def _add_results(facts: Facts, results: PartMap[Call, Result]) -> Encoded:
    """Return the history with results for calls of its last turn."""
    if not results:
        return _encode(facts.conversation)
    conversation = _place(facts, results)
    profile = facts.profile
    if profile.has_id_field and any(map(_lacks_id, results)):
        ordered = conversation.ordered
        if profile.requires_ids or needs_minted_ids(conversation.messages, ordered=ordered):
            conversation = _place(*_with_ids(facts, results))
    return _encode(conversation)


def _lacks_id(call: Call) -> bool:
    """True if a call was read without the id that its result has to name, and can be given one."""
    if call.origin == "wire" or not isinstance(call.spec, Block):
        return call.origin == "minted"
    return call.spec.origin in ("natural", "nullable")


def _place(facts: Facts, results: PartMap[Call, Result]) -> Conversation:
    batches = [batch for batch in facts.batches if any(call in results for call in batch.calls)]
    return place_results(facts, batches, results)


def _with_ids(facts: Facts, results: PartMap[Call, Result]) -> tuple[Facts, PartMap[Call, Result]]:
    """Return the history with an id on every call that gets a result, and the results with these
    ids."""
    taken = all_ids(facts)
    calls = PartMap(
        (call, with_id(call, new_id(facts, call, call.id, taken)))
        for call in results
        if _lacks_id(call)
    )
    identified = Facts(reassign_ids(facts, calls), facts.profile)
    new_results = PartMap(
        (new_call, replace(results[call], call_id=new_call.id))
        for call, new_call in zip(facts.calls, identified.calls, strict=True)
        if call in results
    )
    return identified, new_results


# --- cut ------------------------------------------------------------------------------------------


def cut(
    body: Body, wire: str, *, messages: int | None = None, tokens: int | None = None
) -> Encoded:
    """Keep the newest part of a history: a number of messages, or about a number of tokens.

    System prompt, tools and settings stay, and count as tokens. No pair and no turn is split, and
    the first message is one that the target accepts there; for that, more may be kept than
    requested. Nothing is added: if even the oldest message cannot start a history, that is reported
    as a loss. A cut history has no violation that the whole one does not have.

    Args:
        body: The history.
        wire: The wire, profile or provider of the body.
        messages: The number of messages to keep.
        tokens: The number of tokens to keep, estimated by the bytes of the JSON.

    Raises:
        UsageError: Not exactly one of `messages` and `tokens` is given, or it is not positive.
    """
    limits = [
        (name, value)
        for name, value in (("messages", messages), ("tokens", tokens))
        if value is not None
    ]
    if len(limits) != 1:
        raise UsageError("give either messages or tokens", wire=wire)
    name, limit = limits[0]
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise UsageError(f"{name} must be a positive integer, not {limit!r}", wire=wire)
    facts = _facts(body, wire)
    start = (
        _start_by_messages(facts, limit) if name == "messages" else _start_by_tokens(facts, limit)
    )
    encoded, first = _cut_before(facts, max(start, facts.first_index))
    if first is not None and not _can_start(facts, first):
        reason = (
            "the target does not accept this message as the first one, and no older message is left"
        )
        encoded.losses += locate([Loss(first.path, reason)], facts.conversation.source)
    return encoded


def _cut_before(facts: Facts, start: int) -> tuple[Encoded, Message | None]:
    """Return the history from the newest valid start up to an index, and its first message."""
    conversation = facts.conversation
    splits = _splits(facts)
    violations: Counter[str] | None = None
    for n in range(min(start, len(facts.messages) - 1), facts.first_index, -1):
        if splits[n] or not _can_start(facts, facts.messages[n]):
            continue
        messages = (*facts.messages[: facts.first_index], *facts.messages[n:])
        encoded = _encode(replace(conversation, messages=messages))
        if violations is None:
            violations = _count_violations(facts)
        rest = _facts_of(encoded, facts)
        if _count_violations(rest) <= violations and _has_same_pairs(facts, rest):
            return encoded, facts.messages[n]
    has_messages = facts.first_index < len(facts.messages)
    return _encode(conversation), facts.messages[facts.first_index] if has_messages else None


def _has_same_pairs(facts: Facts, rest: Facts) -> bool:
    """True if the calls that were kept have the same results as in the whole history.

    A minted id depends on the position of its call, and a result may refer to it.
    """
    numbers = _result_numbers(rest)
    return _result_numbers(facts)[-len(numbers) :] == numbers if numbers else True


def _result_numbers(facts: Facts) -> list[int | None]:
    """Return the number of each call's result, counted from the end; None without a result."""
    numbers = PartMap((result, len(facts.results) - n) for n, result in enumerate(facts.results))
    results = (facts.result_of.get(call) for call in facts.calls)
    return [None if result is None else numbers[result] for result in results]


def _facts_of(encoded: Encoded, facts: Facts) -> Facts:
    return Facts(decode_in_full(encoded.body, facts.conversation.wire), facts.profile)


def _count_violations(facts: Facts) -> Counter[str]:
    return Counter(finding.name for finding in find_all(facts))


def _can_start(facts: Facts, message: Message) -> bool:
    """True if the target is not known to refuse a message as the first."""
    has_results = any(type(part) is Result and part.executor == "client" for part in message.parts)
    has_calls = any(type(part) is Call and part.executor == "client" for part in message.parts)
    if (
        message.role == "tool"
        or (has_results and not has_calls)
        or (has_calls and facts.profile.call_needs_preceding_user)
    ):
        return False
    return message.role in ("user", "system") or not facts.profile.must_start_with_user


def _splits(facts: Facts) -> list[bool]:
    """For each index, True if a history that starts there would split a pair, turn or message."""
    spans = [
        (facts.message_index(pair.call), facts.message_index(pair.result))
        for pair in facts.pairs
        if pair.call and pair.result
    ]
    for turn in facts.turns:
        results = (facts.result_of.get(call) for call in turn.calls)
        indexes = [facts.message_index(result) for result in results if result is not None]
        spans.append((turn.caller_indexes[0], max([turn.caller_indexes[-1], *indexes])))
    spans += _spans_of_orphans(facts)
    depth_changes = [0] * (len(facts.messages) + 2)
    for first, last in spans:
        depth_changes[min(first, last) + 1] += 1
        depth_changes[max(first, last) + 1] -= 1
    splits: list[bool] = []
    depth = 0
    for n, message in enumerate(facts.messages):
        depth += depth_changes[n]
        splits.append(depth > 0 or (n > 0 and _continues(facts.messages[n - 1], message)))
    return splits


def _continues(previous: Message, message: Message) -> bool:
    """True if two messages belong together: both are the same message of the body, or both are the
    assistant's, where reasoning belongs to what follows."""
    if message.path and previous.path == message.path:
        return True
    return previous.role == message.role == "assistant"


def _spans_of_orphans(facts: Facts) -> list[tuple[int, int]]:
    """Return the index of each unpaired result with that of a call with its id: the newest open one
    of an earlier turn, without which a later call would get the result, or else the nearest call,
    without which the result would become an orphan."""
    if not facts.results_without_call:
        return []
    unpaired = PartSet(facts.results_without_call)
    nearest = {call.id: facts.message_index(call) for call in reversed(facts.calls)}
    turn_of_id: dict[str, ToolTurn | None] = {}
    open_calls: dict[str, int] = {}
    older_open_calls: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for n, message in enumerate(facts.messages):
        for part in message.parts:
            if isinstance(part, Call) and part.executor == "client":
                nearest[part.id] = n
                turn = facts.turn_of(part)
                if turn is not turn_of_id.get(part.id) and part.id in open_calls:
                    older_open_calls[part.id] = open_calls.pop(part.id)
                turn_of_id[part.id] = turn
                if part not in facts.result_of:
                    open_calls[part.id] = n
            elif isinstance(part, Result) and part in unpaired and part.call_id in nearest:
                spans.append((older_open_calls.get(part.call_id, nearest[part.call_id]), n))
    return spans


def _start_by_messages(facts: Facts, limit: int) -> int:
    """Return the index of the oldest of the newest `limit` messages, counted as in the body."""
    starts = [
        n
        for n, message in enumerate(facts.messages)
        if n == 0 or not message.path or facts.messages[n - 1].path != message.path
    ]
    return starts[-limit] if limit <= len(starts) else 0


def _start_by_tokens(facts: Facts, limit: int) -> int:
    """Return the oldest index from which everything fits into the estimated tokens. The last
    message always stays."""
    sizes = _message_sizes(facts)
    fixed_size = len(dump(facts.body)) - sum(sizes[facts.first_index :])
    budget = limit * BYTES_A_TOKEN - fixed_size
    start = len(sizes)
    while start > facts.first_index and (budget := budget - sizes[start - 1]) >= 0:
        start -= 1
    return min(start, len(sizes) - 1)


def _message_sizes(facts: Facts) -> list[int]:
    """Return the bytes of each message and its separator, without the tool definitions in it: these
    always stay."""
    tool_sizes: dict[JsonPath, int] = {}
    for tool in facts.conversation.tools:
        if len(tool.path) > 2:
            size = len(dump(tool.raw)) + 1 if tool.raw is not UNSET else 1
            tool_sizes[tool.path[:2]] = tool_sizes.get(tool.path[:2], 0) + size
    sizes: list[int] = []
    counted: set[JsonPath] = set()
    for message in facts.messages:
        size = 1
        if tool_sizes:
            paths = {part.path[:2] for part in message.parts}
            size -= sum(tool_sizes.get(path, 0) for path in paths)
        if message.raw is not UNSET:
            sizes.append(size + len(dump(message.raw)))
            continue
        for part in message.parts:
            if part.path not in counted:  # a call and its result may be one block
                size += len(describe(part) if part.raw is UNSET else dump(part.raw)) + 1
                counted.add(part.path)
        sizes.append(size)
    return sizes


# --- read and write -------------------------------------------------------------------------------


def _facts(body: Body, wire: str, kind: Kind = "request") -> Facts:
    return Facts(decode_in_full(body, wire, kind), resolve(wire)[1])


def _encode(conversation: Conversation) -> Encoded:
    return encode(conversation, conversation.wire, conversation.kind)
