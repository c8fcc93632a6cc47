"""A call that the provider ran has no result, or its result has no call.

Such a call and its result belong in the same assistant message, the result after the call. If one
half is missing or in another message, the provider refuses the history: "unexpected `tool_use_id`
found in `web_search_tool_result` blocks ... must have a corresponding `server_tool_use` block
before it". This happens when a bridge knows only one of the two types.

The fix rewrites the remaining half as marked text, because only the provider can produce its
results. Two cases are not reported: a call at the end of a paused response waits for the provider,
and a call next to calls for the client may get its result after theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Result, describe
from toolwire.lint.examples.blocks import assistant_blocks, text_block, tool_result, tool_use
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import parts_as_text
from toolwire.lint.rule import FixedConversation, Problem, Rule


def _incomplete_pairs(facts: Facts) -> list[tuple[Call | None, Result | None]]:
    """Pairs of a provider-executed call and its result with one half missing or in another
    message."""
    if not facts.profile.server_results_stay_in_message or facts.conversation.kind != "request":
        return []
    incomplete: list[tuple[Call | None, Result | None]] = []
    client_indexes = {facts.message_index(call) for call in facts.calls}
    for call in facts.server_calls:
        index, result = facts.message_index(call), facts.result_of.get(call)
        beside_client_calls = index in client_indexes
        if result is None:
            if _is_abandoned(facts, index, beside_client_calls=beside_client_calls):
                incomplete.append((call, None))
        elif index != facts.message_index(result) and not beside_client_calls:
            incomplete.append((call, result))
    incomplete += (
        (None, result)
        for result in facts.results
        if result.executor == "provider" and result not in facts.call_of
    )
    return incomplete


def _is_abandoned(facts: Facts, index: int, *, beside_client_calls: bool) -> bool:
    """True if the conversation continued after a message, so that the provider cannot finish it."""
    following = facts.messages[index + 1 :]
    if beside_client_calls:
        return any(message.role == "assistant" for message in following)
    return bool(following)


def _check(facts: Facts) -> Iterable[Problem]:
    for call, result in _incomplete_pairs(facts):
        if call is not None:
            problem = "has no result" if result is None else "and its result are in two messages"
            yield call.path, f"{_describe(call)} {problem}", "safe"
        elif result is not None:
            yield result.path, f"{_describe(result)} has no call before it", "safe"


def _describe(part: Call | Result) -> str:
    if isinstance(part, Call):
        return f"the call {part.id} ({part.name}), which the provider ran,"
    return f"the result for {part.call_id}, which the provider returned,"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    incomplete = _incomplete_pairs(facts)
    if not incomplete:
        return None
    parts = [part for pair in incomplete for part in pair if part is not None]
    texts: PartMap[Part, str] = PartMap((part, describe(part)) for part in parts)
    changes = tuple((part.path, f"rewrote {_describe(part)} as text") for part in parts)
    return FixedConversation(parts_as_text(facts.conversation, texts), changes)


_USE = tool_use("srvtoolu_1", "server_tool_use", "web_search")
_SEARCH_RESULT = tool_result("srvtoolu_1", "web_search_tool_result", [])
RULE = Rule(
    "TW036",
    "server-tool-unpaired",
    title="a call that the provider ran has no result, or its result has no call",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=29,
    scope="body",
    ruled_out_by=(Observation.NO_SERVER_TOOLS,),
    bad=(
        blocks_example(USER, assistant_blocks(_USE), USER),
        blocks_example(USER, assistant_blocks(_SEARCH_RESULT, text_block("so it is")), USER),
        blocks_example(
            USER,
            assistant_blocks(_USE, text_block("hm")),
            USER,
            assistant_blocks(_SEARCH_RESULT, text_block("so it is")),
            USER,
        ),
    ),
    good=(
        blocks_example(USER, assistant_blocks(_USE, _SEARCH_RESULT, text_block("so it is")), USER),
        blocks_example(USER, assistant_blocks(_USE)),
    ),
)
