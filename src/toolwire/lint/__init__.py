"""Check a history against the rules of the provider it goes to, and repair it.

A rule is a module in `rules/`: its page, its check and its fix. Fixes run in a declared order until
none is left; text that a fix adds to a history carries a mark, and every change is reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from toolwire.codec import decode_in_full, resolve
from toolwire.codec.body_shape import body_as_given, locate
from toolwire.codec.fit import wire_for_model
from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, Body, dump
from toolwire.conversation.model import Change, Conversation, Finding, Kind
from toolwire.conversation.observations import observe
from toolwire.errors import UsageError
from toolwire.lint.facts import Facts
from toolwire.lint.registry import all_rules, find, rule, rules_to_check
from toolwire.lint.repair_loop import repair_on_own_wire
from toolwire.lint.stream_facts import StreamFacts, stream_facts
from toolwire.profiles.table import Profile
from toolwire.wires.engine.lowering import lower_messages
from toolwire.wires.engine.message_lowering import MessageLowering
from toolwire.wires.engine.specs import Wire

__all__ = ["Input", "Repaired", "all_rules", "check", "find_all", "repair", "rule"]

Input: TypeAlias = "Body | Iterable[object]"
"""A body, or a recorded stream."""


class Repaired(Struct, frozen=True, eq=False):
    """A repaired body, with the changes that were made and the findings that remain.

    `ids` maps the ids and names in the body back to those before the repair.
    """

    body: JSON
    changes: list[Change]
    findings: list[Finding]
    raw: bytes | None = None
    ids: IdMap = field(default_factory=IdMap)

    def json(self) -> bytes:
        """The body as JSON. If nothing changed, these are the bytes that were passed in."""
        return self.raw if self.raw is not None else dump(self.body)


def check(
    body: Input, wire: str, kind: Kind = "request", *, target: str | None = None
) -> list[Finding]:
    """List the violations in a history that a provider would refuse.

    Args:
        body: A body, or a recorded stream (bytes, text or events) with `kind="stream"`.
        wire: The wire of the body.
        kind: `request`, `response` or `stream`.
        target: The wire or profile that the history goes to; its own wire if not given. For a
            target on another wire, the list has what `translate` would repair or cannot repair.

    The pointers of findings lead into the body. For a stream, findings about the stream itself
    point into the list of its events, all others into the body that it folds to.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
    """
    if kind == "stream":
        return _stream_findings(stream_facts(body, wire, _own_profile(wire, target)))
    conversation = decode_in_full(body, wire, kind)  # type: ignore[arg-type]
    source = conversation.source
    target_wire, profile = resolve(target or wire)
    if kind == "request" and conversation.wire != target_wire.name:
        conversation = _lower_for(conversation, target_wire, profile)
    facts = Facts(conversation, profile)
    return locate(find(facts, rules_to_check(facts)), source)


def repair(
    body: Input,
    wire: str,
    kind: Kind = "request",
    *,
    unsafe: bool = False,
    abandon_pending: bool = False,
    target: str | None = None,
) -> Repaired:
    """Make a history acceptable to its provider and list every change.

    Repairing a repaired history changes nothing. The input is not modified. A recorded stream is
    returned as its events, unchanged: fold it and repair the body.

    Args:
        body: A body, or a recorded stream with `kind="stream"`.
        wire: The wire of the body.
        kind: `request`, `response` or `stream`.
        unsafe: Assign results and arguments to calls by order where nothing else identifies the
            call. By default, such results become text.
        abandon_pending: Add an error result to the calls at the end that wait for their results.
            By default they stay: see `pending` and `resume`.
        target: The profile that the history goes to, on the same wire; `translate` repairs for
            other wires.

    Raises:
        DecodeError: The body is not JSON, or not a body of this wire.
    """
    profile = _own_profile(wire, target)
    if kind == "stream":
        stream = stream_facts(body, wire, profile)
        return Repaired(list(stream.events), [], _stream_findings(stream))
    conversation = decode_in_full(body, wire, kind)  # type: ignore[arg-type]
    done = repair_on_own_wire(conversation, profile, unsafe=unsafe, abandon_pending=abandon_pending)
    source = conversation.source
    return Repaired(
        body_as_given(done.conversation.source.body, source, changed=bool(done.changes)),
        locate(done.changes, source),
        locate(done.findings, source),
        source.raw if not done.changes else None,
        done.ids,
    )


def _lower_for(conversation: Conversation, target: Wire, profile: Profile) -> Conversation:
    """The conversation with messages in the form that a target on another wire gets."""
    target = wire_for_model(target, profile, conversation)
    messages = MessageLowering(target.capabilities, wire=target.name)
    observations = observe(conversation, target.name)
    return lower_messages(conversation, target, messages, "auto", observations).conversation


def find_all(facts: Facts) -> list[Finding]:
    """The violations of all rules."""
    return find(facts, all_rules())


def _stream_findings(stream: StreamFacts) -> list[Finding]:
    """The findings of a stream, without fixes, because sent events cannot be repaired."""
    return [replace(finding, fix=None) for finding in find_all(stream)]


def _own_profile(wire: str, target: str | None) -> Profile:
    """The profile of a target that speaks the wire of the body."""
    source_wire, profile = resolve(wire)
    if target is None:
        return profile
    target_wire, profile = resolve(target)
    if target_wire.name != source_wire.name:
        reason = (
            f"this is not a profile of {source_wire.name}; a repair keeps the wire of the body,"
            " `translate` writes another one"
        )
        raise UsageError(reason, wire=target)
    return profile
