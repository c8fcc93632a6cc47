"""Close calls that were interrupted, so that the history is complete.

This module knows no wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from toolwire.conversation.json import JSON, text_of
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Part, Result, describe
from toolwire.lint.facts import CallBatch, Facts
from toolwire.lint.fixes.result_placement import add_results
from toolwire.lint.fixes.transforms import INTERRUPTED, parts_as_text, placeholder_result
from toolwire.lint.rule import FixedConversation

_COMPUTER = "computer-use"
"""The family of calls that take a screenshot."""
_SHELL = "function-shell"
"""The family of calls whose result is a list with the output of each command."""


def error_result(call: Call, text: str) -> Result:
    """An error result with a text, in the form that the family of the call requires on its own
    wire."""
    if call.family != _SHELL:
        return call.result(text, error=True)
    outcome: JSON = {"type": "exit", "exit_code": 1}
    output: JSON = [{"stdout": "", "stderr": text, "outcome": outcome}]
    return call.result(text_of(output))  # the exit code says that it is an error


def calls_that_need_image(facts: Facts, calls: Iterable[Call]) -> list[Call]:
    """The calls that only an image could answer, so that they cannot get an error text."""
    if not facts.profile.computer_results_are_images or not facts.own_wire:
        return []
    return [call for call in calls if call.family == _COMPUTER]


def calls_as_text(facts: Facts, calls: Iterable[Call], reason: str) -> Conversation:
    """The conversation with calls replaced by text, which states why they have no result."""
    texts = PartMap[Part, str]((call, f"{describe(call)}\n{reason}") for call in calls)
    return parts_as_text(facts.conversation, texts)


def close_calls(facts: Facts, open_calls: Sequence[tuple[CallBatch, Call]]) -> FixedConversation:
    """The conversation with an error result for each of these calls.

    Calls that only an image could answer become text; the others get their results in the next fix.
    """
    calls = calls_that_need_image(facts, (call for _, call in open_calls))
    if calls:
        action = "rewrote the call as text"
        conversation = calls_as_text(facts, calls, INTERRUPTED)
    else:
        action, calls = "added a result", [call for _, call in open_calls]
        make = _placeholder if facts.own_wire else placeholder_result
        conversation = add_results(facts, open_calls, make)
    changes = tuple(
        (call.path, f"{action}: the call {call.id} ({call.name}) was interrupted") for call in calls
    )
    return FixedConversation(conversation, changes)


def _placeholder(call: Call) -> Result:
    return error_result(call, INTERRUPTED)
