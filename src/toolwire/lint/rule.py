"""What a rule is, and what it finds. Knows no rule by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.json import JSON, JsonPath
from toolwire.conversation.model import Kind
from toolwire.errors import pointer
from toolwire.lint.facts import Facts
from toolwire.profiles.table import Profile

Severity: TypeAlias = Literal["error", "info"]
Fix: TypeAlias = Literal["safe", "unsafe"]
Loss: TypeAlias = Literal["lossless", "neutral", "lossy", "refuse"]


class Finding(Struct, frozen=True):
    """Something wrong in a history: the rule, the place, and what to do."""

    code: str
    name: str
    severity: Severity
    path: JsonPath
    message: str
    fix: Fix | None = None

    @property
    def pointer(self) -> str:
        """Where in the body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        return f"{self.pointer}: {self.code} {self.name}: {self.message}"


class Example(Struct, frozen=True):
    """A body of a wire, and the wire or profile whose rules apply."""

    wire: str
    target: str
    body: JSON
    kind: Kind = "request"


class Fixed(Struct, frozen=True):
    """A body with a rule's faults mended, and what was done."""

    body: JSON
    changes: tuple[tuple[JsonPath, str], ...]


class Rule(Struct, frozen=True, eq=False):
    """One way in which histories break.

    `check` gives (place, message, fix) for each case; it must cost next to nothing when there is
    none. `mend` gives the body with all of them mended that `fix` allows, or None if nothing can be
    done; it is asked again until nothing is left.
    """

    code: str
    name: str
    title: str
    loss: Loss
    check: Callable[[Facts], Iterable[tuple[JsonPath, str, Fix | None]]]
    mend: Callable[[Facts, bool], Fixed | None] | None = None
    """Asked with whether unsafe fixes are allowed."""
    severity: Severity = "error"
    eased: Callable[[Profile], bool] | None = None
    """For whom it is only worth knowing, because some of its servers refuse it and others do not.
    """
    order: int = 50
    """When it is mended: shapes (10) before ids (20), ids before pairs (30), pairs before places
    (40), the rest after (50)."""
    bad: tuple[Example, ...] = ()
    """Bodies that have it."""
    good: tuple[Example, ...] = ()
    """Bodies that are like these, and fine."""

    def weighs(self, profile: Profile) -> Severity:
        """How bad it is for a target."""
        return "info" if self.eased is not None and self.eased(profile) else self.severity
