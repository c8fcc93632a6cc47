"""An id carries other data, such as a signature, behind the actual id.

Some gateways have no field for the signature that Gemini requires with a call, and append it to the
id: `call_ab__thought__CiQB…`, `call_ab_ts_CiQB…`. Another provider refuses such an id because of
its length or its characters, and Gemini 3 does not find the signature where it expects one.

The fix keeps only the actual id, in both the call and its result. For a server that requires
signatures, it moves the payload to the signature field; for any other server the payload has no
meaning and is dropped. The rule reports only ids that are refused, that separate a call from its
result, or that hide a required signature.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from toolwire.conversation.json import JsonPath, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Call
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import own_body
from toolwire.lint.ids.composites import find_composites, reduce_ids
from toolwire.lint.ids.edits import all_ids, new_id, reassign_ids, with_id
from toolwire.lint.ids.formats import SIGNATURE_PATHS, shorten, split_payload, without_payload
from toolwire.lint.reasoning import may_be_reasoning_model
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.profiles.table import Profile


class _SignatureInId(Struct, frozen=True, eq=False):
    """A call whose signature is part of its id."""

    call: Call
    plain_id: str
    signature: str


def _signatures_in_ids(facts: Facts) -> list[_SignatureInId]:
    """Return the calls that need a signature and carry it in their id."""
    if (
        facts.profile.reasoning_to_return != "signature"
        or facts.conversation.wire not in SIGNATURE_PATHS
        or not facts.own_wire
        or not may_be_reasoning_model(facts)
    ):
        return []
    return [
        _SignatureInId(call, *halves)
        for call in facts.calls
        if call.signature is None
        and "_t" in call.id
        and (halves := split_payload(call.id)) is not None
    ]


def _ruled_out_for(profile: Profile) -> tuple[int, ...]:
    """The observations that rule out a violation. For a target with a separate signature field,
    accepted ids do not: the signature is still missing there."""
    if profile.reasoning_to_return == "signature":
        return ()
    return (Observation.RESULTS_IN_PLACE | Observation.ACCEPTED_IDS,)


def _check(facts: Facts) -> Iterable[Problem]:
    signatures = _signatures_in_ids(facts)
    for entry in signatures:
        call = entry.call
        message = (
            f"the id {shorten(call.id)} of the call to {call.name} is {shorten(entry.plain_id)}"
            f" followed by a signature of {len(entry.signature)} characters;"
            f" {facts.profile.name} expects the signature in its own field"
        )
        yield call.path, message, "safe"
    if not signatures:
        yield from find_composites(facts, without_payload, "carries a payload; the id alone is")


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    signatures = _signatures_in_ids(facts)
    if not signatures:
        return reduce_ids(facts, without_payload)
    ids_in_use = all_ids(facts)
    calls = PartMap(
        (entry.call, with_id(entry.call, new_id(facts, entry.call, entry.plain_id, ids_in_use)))
        for entry in signatures
    )
    body = own_body(reassign_ids(facts, calls))
    changes: list[tuple[JsonPath, str]] = []
    for entry in signatures:
        call = entry.call
        path = (*call.path, *SIGNATURE_PATHS[facts.conversation.wire])
        body = put(body, path, entry.signature)
        change = f"moved the signature in the id of the call to {call.name} to its own field"
        changes.append((call.path, change))
    return FixedBody(body, tuple(changes))


_LONG_ID = "call_9f__thought__CiQBAb" + "c3pLd9" * 12
_SHORT_ID = "call_9f_ts_CiQBAbc3pLd9Q0xZ"
RULE = Rule(
    "TW008",
    "id-carries-payload",
    title="an id carries other data behind the actual id",
    cost="lossless",
    check=_check,
    fix=_fix,
    order=20,
    ruled_out_by=(Observation.RESULTS_IN_PLACE,),
    ruled_out_on="other wires",
    ruled_out_for=_ruled_out_for,
    bad=(
        chat_example(USER, assistant(tool_call(_LONG_ID)), tool_message(_LONG_ID)),
        chat_example(USER, assistant(tool_call(_SHORT_ID)), tool_message("call_9f")),
        Example(
            "mistral",
            "mistral",
            body={"messages": [USER, assistant(tool_call(_SHORT_ID)), tool_message(_SHORT_ID)]},
        ),
        blocks_example(
            USER,
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": _LONG_ID + "/+=", "name": "f", "input": {}}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": _LONG_ID + "/+=", "content": "1"}
                ],
            },
        ),
        Example(
            "gemini",
            "gemini",
            body={
                "model": "gemini-3-pro",
                "contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {
                        "role": "model",
                        "parts": [{"functionCall": {"id": _LONG_ID, "name": "f", "args": {}}}],
                    },
                    {
                        "role": "user",
                        "parts": [
                            {
                                "functionResponse": {
                                    "id": _LONG_ID,
                                    "name": "f",
                                    "response": {"output": "1"},
                                }
                            }
                        ],
                    },
                ],
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call(_SHORT_ID)), tool_message(_SHORT_ID)),
        chat_example(
            USER,
            assistant(tool_call("lots_ts_of")),
            tool_message("lots_ts_of"),
            target="gemini-openai",
        ),
        chat_example(USER, assistant(tool_call(_LONG_ID)), tool_message(_LONG_ID), target="xai"),
    ),
)
