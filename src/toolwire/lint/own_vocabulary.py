"""Write a conversation in the format of its own wire before it is translated to another one.

A wire does not read content in the format of another wire, so a translation would lose it. The rule
about such messages converts them. Characters that the target refuses are replaced before.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import read_body
from toolwire.codec.body_shape import with_paths
from toolwire.conversation.ids import assign_ids, give_results_ids
from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Change, Conversation
from toolwire.conversation.observations import Observation, Observations, observe
from toolwire.conversation.parts import Call, Message, Opaque, Part, Result
from toolwire.lint.facts import Facts
from toolwire.lint.foreign_blocks import read_results
from toolwire.lint.foreign_content import CALL_FIELDS
from toolwire.lint.misplaced_outputs import find_output
from toolwire.lint.registry import rule
from toolwire.lint.rule import FixedBody
from toolwire.profiles.table import PROFILES, Profile
from toolwire.wires.engine.specs import read_id

_RULE = "wrong-vocabulary"
_MAX_FIXES = 4
"""One fix for each kind of mixture: messages as a framework stores them, blocks, messages among
items, items among messages."""


class ConvertedConversation(Struct, frozen=True, gc=False):
    """A conversation in the vocabulary of its own wire, and the changes that this took."""

    conversation: Conversation
    changes: list[Change]
    observations: Observations
    """The observations of the converted conversation."""


def convert_content(
    conversation: Conversation, target: str, profile: Profile, observations: Observations
) -> ConvertedConversation:
    """Prepare a conversation for the stages of a translation, which know only its own vocabulary.

    Args:
        conversation: The conversation; it is not modified.
        target: The wire of the target.
        profile: The provider that gets it.
        observations: The observations of the conversation.
    """
    changes: list[Change] = []
    is_clean = bool(observations.flags & Observation.NO_LONE_SURROGATES)
    if not is_clean and not observations.flags & Observation.PLAIN:
        conversation, changes = _replace_refused_surrogates(conversation, profile)
        is_clean = True
    if _may_have_foreign_content(conversation, observations):
        conversation, conversions = _write_in_own_vocabulary(conversation)
        changes += conversions
    if changes:
        observations = observe(conversation, target)
    if is_clean:
        observations.flags |= Observation.NO_LONE_SURROGATES
    return ConvertedConversation(conversation, changes, observations)


def _may_have_foreign_content(conversation: Conversation, observations: Observations) -> bool:
    """True if a message has a block or a field that its wire does not know."""
    unknown_fields = conversation.source.unknown_fields
    if unknown_fields and any(path[-1] in CALL_FIELDS for path in unknown_fields):
        return True
    if not observations.leftovers and observations.flags & Observation.ONLY_TEXT_AND_TOOLS:
        return False
    if any(type(part) is Message for part in observations.leftovers):
        return True
    if any(isinstance(part, Result) and find_output(part) for part in observations.leftovers):
        return True
    return any(
        type(part) is Opaque or (type(part) is Result and read_results(part))
        for message in conversation.messages
        for part in message.parts
    )


def _write_in_own_vocabulary(conversation: Conversation) -> tuple[Conversation, list[Change]]:
    """The conversation with all messages in the format of its wire, and the changes."""
    changes: list[Change] = []
    vocabulary = rule(_RULE)
    profile = PROFILES.get(conversation.wire)
    if profile is None or vocabulary.fix is None:
        return conversation, changes
    as_read = True
    for _ in range(_MAX_FIXES):
        facts = Facts(conversation, profile)
        fixed = vocabulary.fix(facts, False) if any(True for _ in vocabulary.check(facts)) else None
        if fixed is None or (isinstance(fixed, FixedBody) and not as_read):
            break
        changes += [
            Change(vocabulary.code, vocabulary.name, path, text) for path, text in fixed.changes
        ]
        if isinstance(fixed, FixedBody):
            conversation = _read_with_origins(fixed, conversation.wire)
        else:  # not written in between, because losses need the original paths
            conversation, as_read = _with_ids(fixed.conversation), False
    return conversation, changes


def _replace_refused_surrogates(
    conversation: Conversation, profile: Profile
) -> tuple[Conversation, list[Change]]:
    """Replace the lone surrogates that the target refuses, and return the changes.

    The rule sees tool definitions and settings only in the source body, so this runs before any
    message is converted.
    """
    surrogate_rule = rule("lone-surrogate")
    changes: list[Change] = []
    if (
        surrogate_rule.concerns is not None and not surrogate_rule.concerns(profile)
    ) or surrogate_rule.fix is None:
        return conversation, changes
    for _ in ("in its body", "in arguments, behind an escape"):
        facts = Facts(conversation, profile)
        fixed = (
            surrogate_rule.fix(facts, False)
            if any(True for _ in surrogate_rule.check(facts))
            else None
        )
        if fixed is None:
            break
        changes += [
            Change(surrogate_rule.code, surrogate_rule.name, path, text)
            for path, text in fixed.changes
        ]
        if isinstance(fixed, FixedBody):
            conversation = read_body(fixed.body, conversation.wire, "request")
        else:
            conversation = fixed.conversation
    return conversation, changes


def _read_with_origins(fixed: FixedBody, wire: str) -> Conversation:
    """Read a body after a fix; its paths point into the body before the fix."""
    conversation = read_body(fixed.body, wire, "request")
    origins = fixed.origins
    if not origins:
        return conversation

    def trace(path: JsonPath) -> JsonPath:
        if len(path) < 2 or not isinstance(path[1], int):
            return path
        return (path[0], origins[path[1]], *path[2:])

    source = replace(
        conversation.source, unknown_fields=tuple(map(trace, conversation.source.unknown_fields))
    )
    messages = with_paths(conversation.messages, trace)
    return replace(conversation, messages=messages, source=source)


def _with_ids(conversation: Conversation) -> Conversation:
    """The conversation with an id on every call, and with the id of its call on every result.

    Placeholder ids count as absent, as on the wire itself.
    """
    messages = tuple(
        replace(message, parts=tuple(map(_without_placeholder, message.parts)))
        for message in conversation.messages
    )
    messages = assign_ids(messages, seed="", ordered=conversation.ordered)
    messages = give_results_ids(messages, ordered=conversation.ordered)
    return replace(conversation, messages=messages)


def _without_placeholder(part: Part) -> Part:
    if isinstance(part, Call) and part.origin == "wire" and not read_id(part.id)[0]:
        return replace(part, id="", origin="minted")
    if isinstance(part, Result) and part.origin == "wire" and not read_id(part.call_id)[0]:
        return replace(part, call_id="", origin="minted")
    return part
