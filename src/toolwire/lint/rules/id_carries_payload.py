"""An id has something else hidden behind it, such as a signature.

Some gateways have no other place for the signature that Gemini wants back with a call, and put it
into the id: `call_ab__thought__CiQB…`, `call_ab_ts_CiQB…`. Behind another provider the id is too
long or has characters that are refused, and behind Gemini itself the signature is missing where it
is looked for.

The fix takes the id alone, on both sides. For a server that wants signatures back, what was hidden
is put where it belongs; for any other it means nothing. It is found only where it does harm.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import put
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Call
from toolwire.lint.composite_ids import find_composites, reduce_ids
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.id_edits import new_id, reassign_ids, used_ids, with_id
from toolwire.lint.id_formats import SIGNATURE_PATHS, shorten, split_payload, without_payload
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import own_body


def _sealed(facts: Facts) -> list[tuple[Call, str, str]]:
    """Calls that should bear a signature and have it in their id: the id alone, and what was behind
    it."""
    if (
        facts.profile.reasoning_to_return != "signature"
        or facts.conversation.wire not in SIGNATURE_PATHS
        or not facts.own_wire
    ):
        return []
    return [
        (one, *parts)
        for one in facts.calls
        if one.signature is None and "_t" in one.id and (parts := split_payload(one.id)) is not None
    ]


def _check(facts: Facts) -> Iterable[Problem]:
    sealed = _sealed(facts)
    for one, plain, load in sealed:
        said = (
            f"the id {shorten(one.id)} of the call of {one.name} is {shorten(plain)} with a signature"
            f" of {len(load)} characters"
        )
        yield (
            one.path,
            f"{said} behind it, which {facts.profile.name} looks for beside the call",
            "safe",
        )
    if not sealed:
        yield from find_composites(
            facts, without_payload, "has something else behind it; it should be"
        )


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    sealed = _sealed(facts)
    if not sealed:
        return reduce_ids(facts, without_payload)
    taken = used_ids(facts)
    new = {id(one): with_id(one, new_id(facts, one, plain, taken)) for one, plain, _ in sealed}
    body = own_body(reassign_ids(facts, new))
    for one, _, load in sealed:
        body = put(body, (*one.path, *SIGNATURE_PATHS[facts.conversation.wire]), load)
    changes = tuple(
        (one.path, f"the signature in the id of the call of {one.name} stands beside it now")
        for one, _, _ in sealed
    )
    return FixedBody(body, changes)


_SIGNED = "call_9f__thought__CiQBAb" + "c3pLd9" * 12
_SHORT = "call_9f_ts_CiQBAbc3pLd9Q0xZ"
RULE = Rule(
    "TW008",
    "id-carries-payload",
    title="an id has something else hidden behind it",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    bad=(
        chat_example(USER, assistant(tool_call(_SIGNED)), tool_message(_SIGNED)),
        chat_example(USER, assistant(tool_call(_SHORT)), tool_message("call_9f")),
        Example(
            "mistral",
            "mistral",
            {"messages": [USER, assistant(tool_call(_SHORT)), tool_message(_SHORT)]},
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": _SIGNED + "/+=", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": _SIGNED + "/+=", "content": "1"}
                ],
            },
        ),
        Example(
            "gemini",
            "gemini",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {
                        "role": "model",
                        "parts": [{"functionCall": {"id": _SIGNED, "name": "f", "args": {}}}],
                    },
                    {
                        "role": "user",
                        "parts": [
                            {
                                "functionResponse": {
                                    "id": _SIGNED,
                                    "name": "f",
                                    "response": {"output": "1"},
                                }
                            }
                        ],
                    },
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call(_SHORT)), tool_message(_SHORT)),
        chat_example(
            USER,
            assistant(tool_call("lots_ts_of")),
            tool_message("lots_ts_of"),
            target="gemini-openai",
        ),
        chat_example(USER, assistant(tool_call(_SIGNED)), tool_message(_SIGNED), target="xai"),
    ),
)
