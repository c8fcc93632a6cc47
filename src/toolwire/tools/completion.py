"""Suggestions for the arguments of prompts and of resource templates, while a user types them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from toolwire.conversation.json import JSON, Object
from toolwire.tools.errors import InvalidResult, ToolDefinitionError
from toolwire.tools.runnable import Runnable, ToolId

Completer: TypeAlias = "Sequence[str] | Callable[[str], object]"
"""The values of an argument, or a function from the text that the user typed to values. The
function may be async."""
VALUE = "value"
"""The name of a completer's argument, the text that the user typed."""


def completers(
    id: ToolId, input_schema: Object, given: Mapping[str, Completer]
) -> dict[str, Runnable]:
    """The completer of each argument: the given completers, and the choices in the schema.

    Raises ToolDefinitionError.
    """
    properties = input_schema.get("properties")
    assert isinstance(properties, dict)
    unknown = given.keys() - properties.keys()
    if unknown:
        raise ToolDefinitionError(
            str(id), f"complete names {', '.join(sorted(unknown))}, which is not a parameter"
        )
    choices = {name: _choices(schema) for name, schema in properties.items()}
    found: dict[str, Completer] = {name: values for name, values in choices.items() if values}
    return {name: _completer(id, values) for name, values in {**found, **given}.items()}


def _choices(schema: JSON) -> list[str]:
    """The values of a `Literal` or an enumeration of texts."""
    values = schema.get("enum") if isinstance(schema, dict) else None
    return [text for text in values if isinstance(text, str)] if isinstance(values, list) else []


def _completer(id: ToolId, source: Completer) -> Runnable:
    def complete(arguments: Mapping[str, object]) -> object:
        typed = arguments[VALUE]
        assert isinstance(typed, str)
        if callable(source):
            return source(typed)
        return [text for text in source if text.lower().startswith(typed.lower())]

    return Runnable(
        id=id,
        description="",
        input_schema={},
        output_schema={},
        body=lambda arguments, context: complete(arguments),
        decode_arguments=lambda arguments: arguments,
        encode_result=_encode_values,
        is_async=not callable(source) or inspect.iscoroutinefunction(source),
        read_only=True,
    )


def _encode_values(values: object) -> JSON:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidResult("a completer returns a list of texts")
    found: list[JSON] = []
    for text in values:
        if not isinstance(text, str):
            raise InvalidResult("a completer returns a list of texts")
        found.append(text)
    return found
