"""Every exception that toolwire raises on purpose, as one tree.

    ToolwireError                     the root: `except ToolwireError` catches them all
    ├── InputError                    something that toolwire was given cannot be used
    │   ├── DecodeError               a body that is not JSON, or not of the wire it is read as
    │   │   └── UnexpectedType        a value of another JSON type than the wire expects
    │   └── UsageError                a wrong argument: an unknown name or option, a missing key
    │       ├── ConfigError           a configuration: every mistake in it, one line each
    │       └── ToolDefinitionError   a tool that cannot be defined as it is written
    ├── AgentError                    a run of an agent without an answer of the model
    ├── ModelError                    a model that gave no response
    ├── ToolError                     raised by a tool: a failure that the caller may read
    │   ├── RetryableToolError        the same call may succeed later
    │   ├── ClientUnsupported         the caller cannot be asked for input or a completion
    │   └── NoEffect                  nothing happened; the same call id may run again
    ├── InvalidInput                  arguments that do not fit the schema of their tool
    ├── UnknownTool                   no tool of this id, or not in this version
    ├── MissingRequirements           a tool needs a token, a secret or a user id
    ├── InvalidResult                 a result that does not fit the schema of its tool
    ├── ExecutorClosed                the executor was closed
    ├── ExecutorBusy                  too many calls are running
    ├── LedgerUnavailable             the ledger cannot be reached; nothing ran
    ├── CallIdTooOld                  the ledger no longer knows whether this call ran
    ├── OutcomeUnknown                a call may have run; its result is lost
    ├── PayloadError                  a workflow engine sent bytes that are not a tool call
    ├── OxpError                      an OXP server gave no value
    │   ├── ToolCallFailed            the tool ran and failed
    │   ├── BadRequest                refused before the tool ran (ToolNotFound, InvalidInput, …)
    │   ├── AuthenticationError       the credentials are not accepted
    │   ├── ServerUnavailable         no response after all retries
    │   └── InvalidResponse           a response that does not follow the protocol
    └── ProtocolError                 a connection that broke, or a server that does not speak HTTP
        └── ConnectError              no connection; nothing was sent
            └── ConnectTimeout        no connection in time; nothing was sent

The text of an error says what is wrong, where, and what to do about it. Losses and findings are
values and are never raised. Any other exception that leaves toolwire is a bug, unless a callback of
the caller raised it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from types import UnionType


def pointer(path: tuple[str | int, ...]) -> str:
    """Return the JSON pointer (RFC 6901) of a path; empty for the whole document."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: a close name, and all known names."""
    names = list(known)
    folded = {candidate.lower().replace("_", "-"): candidate for candidate in names}
    if not names:
        return "; there are none"
    near = get_close_matches(name.lower().replace("_", "-"), folded, n=1, cutoff=0.7)
    question = f"did you mean {folded[near[0]]}? " if near else ""
    return f"; {question}known names: {', '.join(names)}"


class ToolwireError(Exception):
    """The base of every exception that toolwire raises on purpose."""


class InputError(ToolwireError):
    """An input or an argument cannot be used.

    Attributes:
        why: The reason, and what to do.
        wire: The wire of the body; empty if the error is not about a body.
        path: The path in the body; empty for the whole body.
    """

    def __init__(self, why: str, wire: str = "", path: tuple[str | int, ...] = ()) -> None:
        super().__init__(why, wire, path)
        self.why = why
        self.wire = wire
        self.path = path

    @property
    def pointer(self) -> str:
        """The path in the body, as a JSON pointer."""
        return pointer(self.path)

    def __str__(self) -> str:
        location = " ".join(part for part in (self.wire, self.pointer) if part)
        return f"{location}: {self.why}" if location else self.why


class DecodeError(InputError):
    """The body is not JSON, or not a body of the given wire."""


class UnexpectedType(DecodeError):
    """A value has another JSON type than its wire expects.

    Attributes:
        expected: The Python types of the values that the wire accepts; None for null.
    """

    def __init__(
        self,
        why: str,
        expected: tuple[type | None, ...] = (),
        wire: str = "",
        path: tuple[str | int, ...] = (),
    ) -> None:
        super().__init__(why, wire, path)
        self.args = (why, expected, wire, path)
        self.expected = expected


class UsageError(InputError):
    """The caller made a mistake: an unknown name or option, a missing key, a value that is not
    JSON."""


class ConfigError(UsageError):
    """A configuration cannot be used.

    Attributes:
        mistakes: Every mistake, one line each, with file and line where they are known.
    """

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.args = mistakes
        self.mistakes = list(mistakes)


def describe_os_error(error: OSError) -> str:
    """Return the reason of a failed system call without its number and file name."""
    return (error.strerror or str(error)).lower()


def require_type(value: object, types: type | UnionType, expected: str) -> None:
    """Raise UsageError unless a value has one of the types; `expected` names them."""
    if not isinstance(value, types):
        raise UsageError(f"expected {expected}, got {type(value).__name__}")


def require_text(value: object, what: str) -> None:
    """Raise UsageError unless a value is a non-empty string."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"{what} must be a non-empty string, not {value!r}")


def require_count(value: object, what: str, *, least: int) -> None:
    """Raise UsageError unless a value is a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(f"{what} must be a whole number of at least {least}, not {value!r}")


def require_seconds(value: object, what: str, *, positive: bool = True) -> None:
    """Raise UsageError unless a value is a number of seconds, above zero if it must be positive."""
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not (number > 0 or (number == 0 and not positive)):
        sign = "positive number" if positive else "number"
        raise UsageError(f"{what} must be a {sign} of seconds, not {value!r}")
