"""The two ways in which a wire can be broken: by the peer, or by what we were asked to say.

Losses and findings are values and never raised; whatever else leaves this package as an exception
is a bug.
"""

from __future__ import annotations


def pointer(path: tuple[str | int, ...]) -> str:
    """The JSON pointer (RFC 6901) of a path; the whole document is the empty string."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


class WireError(Exception):
    """Something that cannot be read or said: on which wire, where, and why."""

    def __init__(self, wire: str, path: tuple[str | int, ...], why: str) -> None:
        super().__init__(wire, path, why)
        self.wire = wire
        self.path = path
        self.why = why

    @property
    def pointer(self) -> str:
        """Where in the body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        place = " ".join(part for part in (self.wire, self.pointer) if part)
        return f"{place}: {self.why}" if place else self.why


class LocalError(WireError):
    """You asked for what cannot be said: an unknown wire or option, or a value no JSON can hold."""


class RemoteError(WireError):
    """The peer broke its wire: this body is not what it is said to be."""
