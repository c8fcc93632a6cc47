"""A kind of error that no rule of a history explains."""

from __future__ import annotations

from msgspec import Struct


class ErrorKind(Struct, frozen=True):
    """A kind of error for which `check` finds nothing: it is about something other than the calls
    and results of a history.
    """

    kind: str
    meaning: str
    """What the error is about, and what helps."""
    pattern: str = ""
    """Words that errors about histories do not use."""
    status: str = ""
    """Codes of HTTP that say the same, if no words do; a gateway may send them for another kind."""
    weak_pattern: str = ""
    """Words that errors about histories may use too, so that those are looked for first."""
    first_pattern: str = ""
    """Words that decide alone, although the text may speak of calls and results too."""
    command: str = ""
    """A command that helps; `FILE` is the file of the body, `TOKENS` the limit that the error
    names, `HOST` the address of a server."""
    advice: str = ""
    """What to do. Only an error about tools has one."""

    @property
    def about_tools(self) -> bool:
        """True if the error is about tools, their servers or models that call them."""
        return bool(self.advice)
