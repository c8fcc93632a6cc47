"""Results whose id is their own output: told by their content, their signs and their length.

Knows no rule and no wire.
"""

from __future__ import annotations

import re

from toolwire.conversation.json import parse
from toolwire.conversation.parts import Call, Result
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import surplus_results, turns_by_part
from toolwire.lint.id_formats import is_composite

_PROSE = re.compile(r"[\s{}\[\]\"<>]")
"""Signs that words and JSON have and ids do not."""
_SHORTEST = 8
"""A beginning that is shorter may be one by chance."""
_LONGEST = 64


def _bare(text: str) -> str:
    """A text without the quotes that JSON puts around it, and without blanks."""
    if text[:1] in '"{[':
        try:
            value = parse(text)
        except ValueError:
            return "".join(text.split())
        text = value if isinstance(value, str) else text
    return "".join(text.split())


def is_output(one: str, result: Result) -> bool:
    """Whether an id is what the result says, or the beginning of it."""
    said, named = _bare(result.text), _bare(one)
    if not named or said == named:
        return bool(named)
    return min(len(said), len(named)) >= _SHORTEST and (
        said.startswith(named) or named.startswith(said)
    )


def has_output_as_id(facts: Facts, call: Call) -> bool:
    """Whether a call and its result both go under what the result says."""
    result = facts.result_of.get(id(call))
    return result is not None and is_output(call.id, result)


def results_with_output_as_id(facts: Facts) -> list[tuple[Result, list[Call], int]]:
    """Stray results that bear output for an id, each with the open calls of its turn, and how many
    such results there are."""
    if not facts.unpaired_results or not facts.open_calls or facts.continues_elsewhere:
        return []
    turns, more = turns_by_part(facts), surplus_results(facts)
    open_by: dict[int, list[Call]] = {}
    for call in facts.open_calls:
        if (
            turn := turns.get(id(call))
        ) is not None:  # a call that somebody else than the assistant makes is in no turn
            open_by.setdefault(id(turn), []).append(call)
    alone = [
        one
        for one in facts.unpaired_results
        if id(one) not in more and id(turns.get(id(one))) in open_by
    ]
    by_turn: dict[int, list[Result]] = {}
    for result in alone:
        by_turn.setdefault(id(turns[id(result)]), []).append(result)
    found: list[tuple[Result, list[Call], int]] = []
    for key, results in by_turn.items():
        calls = [
            call
            for call in open_by[key]
            if facts.message_index(call) < facts.message_index(results[0])
        ]
        odd = [
            result
            for result in results
            if _output_like(result, single=len(calls) == len(results) == 1)
        ]
        found += [
            (result, calls, len(odd) if len(odd) == len(results) else 0) for result in odd if calls
        ]
    return found


def _output_like(result: Result, *, single: bool) -> bool:
    one = result.call_id
    if result.origin != "wire" or is_composite(one):
        return False
    return (
        is_output(one, result) or _PROSE.search(one) is not None or (single and len(one) > _LONGEST)
    )
