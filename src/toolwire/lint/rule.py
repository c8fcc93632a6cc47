"""The type of a lint rule. This module knows no rule by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Conversation, Fix, Kind, Severity
from toolwire.lint.facts import Facts
from toolwire.profiles.table import Profile

Cost: TypeAlias = Literal["lossless", "neutral", "lossy", "refuse"]
"""The effect of a fix: nothing changes, nothing that the model sees, something that it sees; or no
fix exists."""
Problem: TypeAlias = "tuple[JsonPath, str, Fix | None]"
"""A violation: its path, a message, and the kind of its fix."""
FixLog: TypeAlias = "tuple[tuple[JsonPath, str], ...]"
"""The changes of a fix: paths and messages."""


class Example(Struct, frozen=True):
    """A body of a wire, and the wire or profile whose rules apply."""

    wire: str
    target: str
    body: JSON
    kind: Kind = "request"


class FixedConversation(Struct, frozen=True):
    """The conversation after a fix, and the changes."""

    conversation: Conversation
    changes: FixLog


class FixedBody(Struct, frozen=True):
    """The source body after a fix of its JSON, and the changes.

    For rules about the JSON of the target's own wire, which a conversation does not show.
    """

    body: JSON
    changes: FixLog
    origins: tuple[int, ...] = ()
    """For each element of the list of messages, the index of the element it was made from; empty if
    the fix neither added nor removed elements."""


class Rule(Struct, frozen=True, eq=False):
    """One way in which histories break.

    `check` yields each violation; it must cost next to nothing if there is none. `fix` repairs all
    violations, or as many as it can at once, and returns None if it can repair none. It may guess
    by order only if its second argument is true. Content that it removes from its place becomes
    text. Fixing the result again changes nothing.
    """

    code: str
    name: str
    title: str
    cost: Cost
    check: Callable[[Facts], Iterable[Problem]]
    fix: Callable[[Facts, bool], FixedConversation | FixedBody | None] | None = None
    severity: Severity = "error"
    info_for: Callable[[Profile], bool] | None = None
    """Profiles for which a violation is only information, because some of their servers refuse it
    and others do not."""
    order: int = 50
    """When its fix runs: shapes (10), ids (20), pairs (30), positions (40), the rest (50)."""
    scope: Literal["conversation", "body", "stream"] = "conversation"
    """`body`: about the JSON of the target's own wire, which a translation writes from scratch.
    `stream`: about the events of a recorded stream. `conversation`: all others."""
    handled_by: Literal["", "lower", "fit", "write"] = ""
    """The later stage that solves the problem when a conversation goes to another wire."""
    concerns: Callable[[Profile], bool] | None = None
    """The profiles for which a history can break the rule, on any wire; all if not given."""
    applies: Callable[[Profile], bool] | None = None
    """Those of them for which a translated conversation can break the rule; all if not given."""
    ruled_out_by: tuple[int, ...] = ()
    """If any of these (combinations of) observations holds, there is no violation."""
    ruled_out_on: Literal["every wire", "other wires"] = "every wire"
    """`other wires`: a history on its own wire may break the rule even if the observations hold,
    because its ids and its content are sent unchanged."""
    ruled_out_on_own_wire_by: tuple[int, ...] = ()
    """Further observations, each of which excludes a violation on the target's own wire."""
    ruled_out_for: Callable[[Profile], tuple[int, ...]] | None = None
    """The same for one target, whose requirements decide which observations suffice."""
    bad: tuple[Example, ...] = ()
    """Bodies with a violation."""
    good: tuple[Example, ...] = ()
    """Similar bodies without one."""

    def severity_for(self, profile: Profile) -> Severity:
        """The severity of a violation for a target."""
        if self.name in profile.sometimes_accepted:
            return "info"
        if self.info_for is not None and self.info_for(profile):
            return "info"
        return self.severity

    def is_ruled_out(self, flags: int, profile: Profile, *, own_wire: bool = False) -> bool:
        """True if the observations show that there is no violation for a target."""
        combinations = self.ruled_out_by
        if own_wire:
            everywhere = combinations if self.ruled_out_on == "every wire" else ()
            for_profile = self.ruled_out_for(profile) if self.ruled_out_for is not None else ()
            combinations = (*everywhere, *self.ruled_out_on_own_wire_by, *for_profile)
        return any(flags & needed == needed for needed in combinations)
