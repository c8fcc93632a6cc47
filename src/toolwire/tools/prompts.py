"""`@prompt`: a typed Python function as a prompt, which users choose in an MCP client.

@prompt
def review(code: str, language: Literal["python", "go"] = "python") -> str:
    "Review code."
    return f"Review this {language} code: {code}"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar, Unpack, overload

from msgspec import Struct

from toolwire.conversation.json import JSON, Object, parse_text, require_json
from toolwire.errors import InputError
from toolwire.tools.completion import Completer, completers
from toolwire.tools.errors import InvalidResult
from toolwire.tools.function import DecoratedFunction, runnable
from toolwire.tools.options import Options, RunOptions, require_known_options
from toolwire.tools.runnable import DEFAULT_TIMEOUT, Runnable
from toolwire.tools.validate import Problem, validate

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
NO_COMPLETERS: Mapping[str, Completer] = {}


class Listing(Struct, frozen=True, kw_only=True):
    """How a prompt or a resource is listed."""

    name: str | None = None
    title: str | None = None
    description: str | None = None


class Content(DecoratedFunction[P, R_co]):
    """A function that returns text for a model: a prompt or a resource."""

    def __init__(
        self,
        function: Callable[P, R_co],
        listing: Listing,
        options: RunOptions,
        *,
        kind: str,
        encode: Callable[[object], JSON],
        complete: Mapping[str, Completer],
    ) -> None:
        made = runnable(function, _tool_options(listing, options, kind), encode=encode)
        super().__init__(function, made)
        self.name = listing.name or str(getattr(function, "__name__", kind.lower()))
        self.title = listing.title
        self.completers: dict[str, Runnable] = completers(
            self.runnable.id, self.runnable.input_schema, complete
        )
        """The completer of each argument that has one."""

    @property
    def description(self) -> str:
        """The description for users and models."""
        return self.runnable.description

    @property
    def parameters(self) -> Mapping[str, JSON]:
        """The schema of each parameter."""
        properties = self.runnable.input_schema["properties"]
        assert isinstance(properties, dict)
        return properties

    def read_arguments(self, texts: Mapping[str, str]) -> Object:
        """The arguments of the function: a parameter of another type than text is read as JSON."""
        return {name: _read_text(self.parameters.get(name), text) for name, text in texts.items()}


def _tool_options(listing: Listing, options: RunOptions, kind: str) -> Options:
    require_known_options(options, RunOptions.__optional_keys__, function=kind.lower())
    return {
        "toolkit": kind,
        "description": listing.description or "",
        "read_only": True,
        "timeout": options.get("timeout", DEFAULT_TIMEOUT),
        "concurrency": options.get("concurrency"),
        "authorization": options.get("authorization", ()),
        "secrets": options.get("secrets", ()),
        "user_id": options.get("user_id", False),
    }


def _read_text(schema: JSON, text: str) -> JSON:
    problems: list[Problem] = []
    validate(schema, text, (), problems)
    if not problems:
        return text
    try:
        return parse_text(text)
    except ValueError:
        return text


class Prompt(Content[P, R_co]):
    """A function decorated with `@prompt`. Calling it calls the function."""

    def required(self, parameter: str) -> bool:
        """True if a parameter has no default."""
        required = self.runnable.input_schema.get("required")
        return isinstance(required, list) and parameter in required

    def __repr__(self) -> str:
        return f"<prompt {self.name}>"


@overload
def prompt(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    complete: Mapping[str, Completer] = NO_COMPLETERS,
    **options: Unpack[RunOptions],
) -> Prompt[P, R]: ...


@overload
def prompt(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    complete: Mapping[str, Completer] = NO_COMPLETERS,
    **options: Unpack[RunOptions],
) -> Callable[[Callable[P, R]], Prompt[P, R]]: ...


def prompt(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    complete: Mapping[str, Completer] = NO_COMPLETERS,
    **options: Unpack[RunOptions],
) -> Prompt[P, R] | Callable[[Callable[P, R]], Prompt[P, R]]:
    """Make a prompt from a typed function, sync or async: `@prompt`, or `@prompt(title="…")`.

    The function returns a text, which becomes a message of the user, or a list of messages: texts,
    and objects with `role` and `content` as MCP has them.

    Args:
        function: the function.
        name: the name; by default that of the function.
        title: the name for people.
        description: by default the first paragraph of the docstring.
        complete: suggestions for arguments: texts, or a function of what the user typed. The
            choices of a `Literal` are suggested anyway.
        options: `timeout`, `concurrency`, and what the function gets in its `ToolContext`:
            `authorization`, `secrets`, `user_id`.

    Raises:
        ToolDefinitionError: the function or an option is not valid.
    """
    listing = Listing(name=name, title=title, description=description)

    def decorate(decorated: Callable[P, R]) -> Prompt[P, R]:
        return Prompt(
            decorated, listing, options, kind="Prompt", encode=_encode_messages, complete=complete
        )

    return decorate if function is None else decorate(function)


def _encode_messages(value: object) -> JSON:
    values = value if isinstance(value, list | tuple) else [value]
    return [_encode_message(message) for message in values]


def _encode_message(value: object) -> JSON:
    if isinstance(value, str):
        return _message("user", value)
    try:
        message = require_json(value, "mcp")
    except InputError as error:
        raise InvalidResult(str(error)) from None
    if not isinstance(message, dict) or not message.keys() >= {"role", "content"}:
        raise InvalidResult("a message is a text, or an object with role and content")
    content = message["content"]
    return _message(message["role"], content) if isinstance(content, str) else message


def _message(role: JSON, text: str) -> Object:
    return {"role": role, "content": {"type": "text", "text": text}}
