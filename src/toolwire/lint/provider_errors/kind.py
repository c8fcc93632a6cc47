"""A kind of error that no rule of a history explains."""

from __future__ import annotations

from msgspec import Struct


class ErrorKind(Struct, frozen=True):
    """A kind of error for which `check` finds nothing: it is about something other than the calls
    and results of a history.
    """

    kind: str
    meaning: str
    """What the error is about, and how to solve it."""
    pattern: str = ""
    """Words that errors about histories do not use."""
    status: str = ""
    """HTTP status codes that mean the same if no words match; a gateway may send them for another
    kind."""
    weak_pattern: str = ""
    """Words that errors about histories may use too, so that those are matched first."""
    first_pattern: str = ""
    """Words that decide alone, even if the text also mentions calls and results."""
    command: str = ""
    """A command that helps. `FILE` stands for the file of the body, `TOKENS` for the limit that the
    error states, `HOST` for the address of a server."""
    advice: str = ""
    """What to do. Only errors about tools have it."""

    @property
    def about_tools(self) -> bool:
        """True if the error is about tools, their servers or models that call them."""
        return bool(self.advice)
