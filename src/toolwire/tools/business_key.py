"""The business key of a tool: calls with the same value count as the same call.

A model that does not see a result asks again under a new call id. The business key, such as an
order number, recognizes the call all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from toolwire.conversation.json import JSON
from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.validate import to_json


def key_of_arguments(
    tool: str, names: Collection[str], parameters: Collection[str], defaults: Mapping[str, object]
) -> Callable[[Mapping[str, object]], JSON]:
    """A function that returns the values of the named arguments; None if all of them are None.

    Raises ToolDefinitionError if the tool has no such parameter.
    """
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise ToolDefinitionError(
            tool, f"key names {', '.join(unknown)}, which is not a parameter of the tool"
        )

    def read(arguments: Mapping[str, object]) -> JSON:
        values: list[JSON] = [to_json(arguments.get(name, defaults.get(name))) for name in names]
        return None if all(value is None for value in values) else values

    return read
