"""Write a conversation in the format of its own wire before it goes to another one.

A wire does not read what clients write in the format of another wire, so a translation would lose
it. The rule about such messages converts them.
"""

from __future__ import annotations

from toolwire.codec import encode_in_full, read_body
from toolwire.conversation.model import Change, Conversation
from toolwire.conversation.observations import Observation, Observations
from toolwire.conversation.parts import Message, Opaque
from toolwire.lint.facts import Facts
from toolwire.lint.registry import rule
from toolwire.lint.rule import FixedBody
from toolwire.profiles.table import PROFILES

_RULE = "wrong-vocabulary"
_MAX_FIXES = 3
"""One for each kind of mixture: blocks, messages among items, items among messages."""


def may_have_foreign_content(conversation: Conversation, observations: Observations) -> bool:
    """True if a message has a block or a field that its wire does not know."""
    if observations.holds(Observation.PLAIN) and not observations.leftovers:
        return False
    return any(part.__class__ is Message for part in observations.leftovers) or any(
        part.__class__ is Opaque for message in conversation.messages for part in message.parts
    )


def write_in_own_vocabulary(conversation: Conversation) -> tuple[Conversation, list[Change]]:
    """The conversation with all messages in the format of its wire, and what was converted."""
    changes: list[Change] = []
    vocabulary = rule(_RULE)
    profile = PROFILES.get(conversation.wire)
    if profile is None or vocabulary.fix is None:
        return conversation, changes
    for _ in range(_MAX_FIXES):
        facts = Facts(conversation, profile)
        fixed = vocabulary.fix(facts, False) if any(True for _ in vocabulary.check(facts)) else None
        if fixed is None:
            break
        changes += [
            Change(vocabulary.code, vocabulary.name, path, text) for path, text in fixed.changes
        ]
        if isinstance(fixed, FixedBody):
            body = fixed.body
        else:
            body = encode_in_full(fixed.conversation, conversation.wire).body
        conversation = read_body(body, conversation.wire, "request")
    return conversation, changes
