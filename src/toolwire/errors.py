"""The errors of reading and writing: RemoteError for bad input, LocalError for bad use.

Losses and findings are values and are never raised. Any other exception that leaves the core is a
bug.
"""

from __future__ import annotations


def pointer(path: tuple[str | int, ...]) -> str:
    """Return the JSON pointer (RFC 6901) of a path; empty for the whole document."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


class WireError(Exception):
    """A value that cannot be read or written: the wire, the path, and the reason."""

    def __init__(self, wire: str, path: tuple[str | int, ...], why: str) -> None:
        super().__init__(wire, path, why)
        self.wire = wire
        self.path = path
        self.why = why

    @property
    def pointer(self) -> str:
        """The path in the body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        location = " ".join(part for part in (self.wire, self.pointer) if part)
        return f"{location}: {self.why}" if location else self.why


class LocalError(WireError):
    """The caller made a mistake: an unknown wire or option, or a value that is not JSON."""


class RemoteError(WireError):
    """The input is invalid: the body is not JSON, or not of the wire that it is read as."""
