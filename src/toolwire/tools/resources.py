"""`@resource`: a typed Python function as a resource, which MCP clients read by its URI.

    @resource("notes://{day}")
    def note(day: str) -> str:
        "The note of a day."

A URI with `{parameters}` is a template: the function gets the text in their place.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar, Unpack
from urllib.parse import unquote

from toolwire.conversation.json import JSON, text_of
from toolwire.tools.completion import Completer
from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.options import RunOptions
from toolwire.tools.prompts import NO_COMPLETERS, Content, Listing
from toolwire.tools.validate import to_json

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_PARAMETER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_FOLDER_MARKS = frozenset("/\\\0")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s{}]*")


class Resource(Content[P, R_co]):
    """A function decorated with `@resource`. Calling it calls the function."""

    def __init__(
        self,
        function: Callable[P, R_co],
        uri: str,
        listing: Listing,
        options: RunOptions,
        *,
        mime_type: str | None,
        complete: Mapping[str, Completer],
    ) -> None:
        super().__init__(
            function, listing, options, kind="Resource", encode=self._encode, complete=complete
        )
        self.uri = uri
        """The URI, or the template of URIs."""
        self.mime_type = mime_type
        self._check()
        self._pattern = re.compile(_pattern(uri))

    @property
    def is_template(self) -> bool:
        """True if the URI has parameters."""
        return bool(self.parameters)

    def match(self, uri: str) -> dict[str, str] | None:
        """The parameters in a URI; None if it is not a URI of this resource."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        arguments = {name: unquote(text) for name, text in found.groupdict().items()}
        return None if any(map(_may_leave_folder, arguments.values())) else arguments

    def _check(self) -> None:
        label, names = str(self.runnable.id), _PARAMETER.findall(self.uri)
        if _URI.fullmatch(_PARAMETER.sub("x", self.uri)) is None:
            raise ToolDefinitionError(label, f"{self.uri!r} is no URI: write notes://{{day}}")
        if "}{" in self.uri:
            raise ToolDefinitionError(label, "two parameters of a URI need a text between them")
        if sorted(names) != sorted(self.parameters):
            raise ToolDefinitionError(
                label,
                f"the parameters of the URI ({', '.join(names) or 'none'}) and of the function"
                f" ({', '.join(self.parameters) or 'none'}) must be the same",
            )

    def _encode(self, value: object) -> JSON:
        if isinstance(value, bytes | bytearray | memoryview):
            blob = b64encode(value).decode()
            return {"mimeType": self.mime_type or "application/octet-stream", "blob": blob}
        if isinstance(value, str):
            return {"mimeType": self.mime_type or "text/plain", "text": value}
        return {"mimeType": self.mime_type or "application/json", "text": text_of(to_json(value))}

    def __repr__(self) -> str:
        return f"<resource {self.uri}>"


def resource(
    uri: str,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    mime_type: str | None = None,
    complete: Mapping[str, Completer] = NO_COMPLETERS,
    **options: Unpack[RunOptions],
) -> Callable[[Callable[P, R]], Resource[P, R]]:
    """Make a resource from a typed function, sync or async: `@resource("config://app")`.

    The function returns a text, bytes, or a value that is written as JSON. Its parameters are those
    of the URI.

    Args:
        uri: the URI, or a template with `{parameters}`.
        name: the name; by default that of the function.
        title: the name for people.
        description: by default the first paragraph of the docstring.
        mime_type: by default `text/plain` for a text, `application/octet-stream` for bytes, and
            `application/json` for other values.
        complete: suggestions for parameters: texts, or a function of what the user typed.
        options: `timeout`, `concurrency`, and what the function gets in its `ToolContext`:
            `authorization`, `secrets`, `user_id`.

    Raises:
        ToolDefinitionError: the function, the URI or an option is not valid.
    """
    listing = Listing(name=name, title=title, description=description)
    return lambda function: Resource(
        function, uri, listing, options, mime_type=mime_type, complete=complete
    )


def _may_leave_folder(text: str) -> bool:
    """True for a parameter that, used as a file name, leads to another folder."""
    return text in (".", "..") or not _FOLDER_MARKS.isdisjoint(text)


def _pattern(uri: str) -> str:
    """A regular expression for the URIs of a template. A parameter holds no slash.

    A parameter ends where the text after it begins, and is not tried again (`(?>…)`): with several
    parameters, that could take hours for a hostile URI. Only the last one is as long as possible.
    """
    first, *rest = _PARAMETER.split(uri)
    pattern, last = re.escape(first), len(rest) - 2
    for at in range(0, len(rest), 2):
        name, text = rest[at], re.escape(rest[at + 1])
        if at == last:
            pattern += f"(?P<{name}>[^/?#]+){text}"
        else:
            pattern += f"(?>(?P<{name}>[^/?#]+?){text})"
    return pattern
