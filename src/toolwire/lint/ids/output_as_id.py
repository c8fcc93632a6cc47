"""Results whose id is their own output, recognized by content or characters.

This module knows no rule and no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.json import parse
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts, ToolTurn
from toolwire.lint.ids.edits import surplus_results
from toolwire.lint.ids.formats import is_composite
from toolwire.lint.memo import once_per_history

_TEXT_CHARACTERS = re.compile(r"[\s{}\[\]\"<>]")
"""Characters of prose and JSON that ids do not have."""
_AROUND_AN_ID = " \t\r\n\"'"
"""White space and quotes that a client may put around an id: they do not make it an output."""
_MIN_PREFIX = 8
"""Shorter prefixes may be equal by chance."""


def _normalize(text: str) -> str:
    """The text without white space, and without the quotes of a JSON string."""
    if text[:1] in '"{[':
        try:
            value = parse(text)
        except ValueError:
            return "".join(text.split())
        text = value if isinstance(value, str) else text
    return "".join(text.split())


def is_output(call_id: str, result: Result) -> bool:
    """True if an id is the output of the result, or one is a prefix of the other."""
    output, text = _normalize(result.text), _normalize(call_id)
    if not text:
        return False
    if output == text:
        return True
    return min(len(output), len(text)) >= _MIN_PREFIX and (
        output.startswith(text) or text.startswith(output)
    )


def has_output_as_id(facts: Facts, call: Call) -> bool:
    """True if the id of a call and its result is the output of the result."""
    result = facts.result_of.get(call)
    return result is not None and is_output(call.id, result)


@once_per_history
def results_with_output_as_id(facts: Facts) -> list[tuple[Result, list[Call], int]]:
    """The unpaired results with their output as id, each with the open calls of its turn and the
    number of such results in the turn; the number is 0 if the turn has other unpaired results
    too."""
    if not facts.results_without_call or not facts.open_calls or facts.continues_elsewhere:
        return []
    surplus = surplus_results(facts)
    open_calls: PartMap[ToolTurn, list[Call]] = PartMap()
    for call in facts.open_calls:
        turn = facts.turn_of(call)
        if turn is not None:  # a call outside assistant messages is in no turn
            open_calls.setdefault(turn, []).append(call)
    unpaired: PartMap[ToolTurn, list[Result]] = PartMap()
    for result in facts.results_without_call:
        turn = facts.turn_of(result)
        if turn is not None and turn in open_calls and result not in surplus:
            unpaired.setdefault(turn, []).append(result)
    matches: list[tuple[Result, list[Call], int]] = []
    for turn, results in unpaired.items():
        index = facts.message_index(results[0])
        calls = [call for call in open_calls[turn] if facts.message_index(call) < index]
        if not calls:
            continue
        with_output = [result for result in results if _is_output_like(result)]
        count = len(with_output) if len(with_output) == len(results) else 0
        matches += [(result, calls, count) for result in with_output]
    return matches


def _is_output_like(result: Result) -> bool:
    call_id = result.call_id
    if result.origin != "wire" or is_composite(call_id):
        return False
    return (
        is_output(call_id, result)
        or _TEXT_CHARACTERS.search(call_id.strip(_AROUND_AN_ID)) is not None
    )
