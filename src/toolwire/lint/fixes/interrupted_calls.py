"""Close calls that were interrupted, so that the history is complete.

This module knows no wire.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolwire.conversation.json import JSON, text_of
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


def _placeholder(call: Call) -> Result:
    """A result for an interrupted call, in the form that its family requires on its own wire."""
    if call.family != _SHELL:
        return placeholder_result(call)
    outcome: JSON = {"type": "exit", "exit_code": 1}
    output: JSON = [{"stdout": "", "stderr": INTERRUPTED, "outcome": outcome}]
    return call.result(text_of(output))  # the exit code says that it is an error


def close_calls(facts: Facts, open_calls: Sequence[tuple[CallBatch, Call]]) -> FixedConversation:
    """The conversation with an error result for each of these calls.

    Calls that only an image could answer become text; the others get their results in the next fix.
    """
    needs_image = facts.profile.computer_results_are_images and facts.own_wire
    calls = [call for _, call in open_calls if needs_image and call.family == _COMPUTER]
    if calls:
        action = "rewrote the call as text"
        texts = PartMap[Part, str]((call, f"{describe(call)}\n{INTERRUPTED}") for call in calls)
        conversation = parts_as_text(facts.conversation, texts)
    else:
        action, calls = "added a result", [call for _, call in open_calls]
        make = _placeholder if facts.own_wire else placeholder_result
        conversation = add_results(facts, open_calls, make)
    changes = tuple(
        (call.path, f"{action}: the call {call.id} ({call.name}) was interrupted") for call in calls
    )
    return FixedConversation(conversation, changes)
