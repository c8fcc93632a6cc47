"""A call that the provider ran itself has lost its result, or the result its call.

Such a call and its result stand in one message of the assistant, the result after the call. If one
half is lost, or moved to another message, the provider refuses the history: "unexpected
`tool_use_id` found in `web_search_tool_result` blocks ... must have a corresponding
`server_tool_use` block before it". It happens when a bridge knows only one of the two types.

The fix, which is not safe, takes out both halves: nobody but the provider can make its results. A
call at the end of a paused answer waits for the provider, and one beside calls of the client may be
answered after theirs: neither is found.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.blocks import answer, model, use, words
from toolwire.lint.examples.chat import USER, blocks_example
from toolwire.lint.facts import Facts
from toolwire.lint.rule import Fixed, Problem, Rule
from toolwire.lint.transforms import merge_same_roles, remove_parts


def _torn(facts: Facts) -> list[tuple[Call | None, Result | None]]:
    if not facts.profile.server_results_stay_in_message or facts.conversation.kind != "request":
        return []
    found: list[tuple[Call | None, Result | None]] = []
    asking = {facts.message_index(call) for call in facts.calls}
    for one in facts.server_calls:
        n, result = facts.message_index(one), facts.result_of.get(id(one))
        apart = (
            n != facts.message_index(result) if result is not None else _over(facts, n, n in asking)
        )
        if apart and not (result is not None and n in asking):
            found.append((one, result))
    if len(facts.results) > len(facts.result_of):
        strays = (
            one
            for one in facts.results
            if one.executor == "provider" and id(one) not in facts.call_of
        )
        found += ((None, one) for one in strays)
    return found


def _over(facts: Facts, n: int, asking: bool) -> bool:
    """Whether the conversation went on after a message, so that the provider will not finish it."""
    after = facts.messages[n + 1 :]
    return any(message.role == "assistant" for message in after) if asking else bool(after)


def _check(facts: Facts) -> Iterable[Problem]:
    for one, result in (
        _torn(facts) if facts.server_calls or len(facts.results) > len(facts.result_of) else ()
    ):
        if one is None and result is not None:
            yield (
                result.path,
                f"a result of the provider's own tool, {result.call_id}, has no call before it",
                "unsafe",
            )
        elif one is not None and result is None:
            yield (
                one.path,
                f"the call {one.id} of the provider's own {one.name} has no result",
                "unsafe",
            )
        elif one is not None:
            yield (
                one.path,
                (
                    f"the call {one.id} of the provider's own {one.name} and its result stand in"
                    " two messages"
                ),
                "unsafe",
            )


def _fix(facts: Facts, unsafe: bool) -> Fixed | None:
    torn = _torn(facts)
    if not unsafe or not torn:
        return None
    gone = [part for pair in torn for part in pair if part is not None]
    changes = tuple(
        (part.path, "half of a pair of the provider's own tool was taken out") for part in gone
    )
    left = remove_parts(facts.conversation, {id(part) for part in gone})
    return Fixed(merge_same_roles(facts, left.messages), changes)


_USE = use("srvtoolu_1", "server_tool_use", "web_search")
_FOUND = answer("srvtoolu_1", "web_search_tool_result", [])
RULE = Rule(
    "TW036",
    "server-tool-unpaired",
    title="a call that the provider ran itself has lost its result, or the result its call",
    cost="lossy",
    check=_check,
    fix=_fix,
    order=29,
    scope="body",
    bad=(
        blocks_example(USER, model(_USE), USER),
        blocks_example(USER, model(_FOUND, words("so it is")), USER),
        blocks_example(
            USER, model(_USE, words("hm")), USER, model(_FOUND, words("so it is")), USER
        ),
    ),
    good=(
        blocks_example(USER, model(_USE, _FOUND, words("so it is")), USER),
        blocks_example(USER, model(_USE)),
    ),
)
