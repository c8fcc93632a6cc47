"""The values of a function's parameters and of what it gives: JSON in, Python in between, JSON out.

One conversion of the whole input when it is right; only when that refuses something is it walked,
to say all that is wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct, convert, defstruct
from msgspec.structs import asdict

from toolwire.conversation.json import JSON, Object
from toolwire.tools.errors import InvalidInput
from toolwire.tools.options import ToolWarning
from toolwire.tools.pydantic_types import Adapter, problems, read
from toolwire.tools.schema import NOTHING, nodes
from toolwire.tools.validate import Problem, by_parameter, plain, settle, unquoted


class Parameter(Struct, frozen=True, eq=False):
    """A parameter of a function, as its caller must give it."""

    name: str
    type: object
    schema: Object
    required: bool
    handler: Adapter | None = None
    default: object = UNSET


def taker(schema: Object, parameters: list[Parameter]) -> Callable[[Object], Mapping[str, object]]:
    """What turns an input into arguments. It raises InvalidInput with every problem there is."""
    if not parameters:
        return _nothing
    fields = [
        (one.name, object if one.handler else one.type) + (() if one.required else (UNSET,))
        for one in parameters
    ]
    whole = defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)  # type: ignore[arg-type]
    handlers = [(one.name, one.handler) for one in parameters if one.handler is not None]
    partial = not all(one.required for one in parameters)
    # pydantic takes true for the 1 of an enum, however strict
    careful = bool(handlers) or any(_looser(node) for node in nodes(schema))

    def fast(given: Object) -> dict[str, object]:
        made = asdict(convert(given, whole, str_keys=True))
        if partial:
            made = {name: value for name, value in made.items() if value is not UNSET}
        for name, handler in handlers:
            if name in made:
                made[name] = read(handler, given[name])
        return made

    def takes(given: Object) -> Mapping[str, object]:
        if not careful:
            try:
                return fast(given)
            except Exception:  # a type's own code may raise anything; the walk says what is wrong
                pass
        told: list[Problem] = []
        settled = settle(schema, given, (), told)
        if not told and isinstance(settled, dict):
            try:
                return fast(settled)
            except Exception:
                told = _blamed(parameters, settled)
        raise InvalidInput(by_parameter(told))

    return takes


def _nothing(given: Object) -> Mapping[str, object]:
    if not given:
        return {}
    told: list[Problem] = []
    settle(NOTHING, given, (), told)
    raise InvalidInput(by_parameter(told))


def _looser(node: Object) -> bool:
    """Whether the conversion takes more than the schema allows: a number for a decimal text, an
    item of a set twice."""
    return node.get("format") == "decimal" or node.get("uniqueItems") is True


def _blamed(parameters: list[Parameter], given: Object) -> list[Problem]:
    """What a type's own code has against its value, though it fits the schema."""
    told: list[Problem] = []
    for one in parameters:
        if one.name not in given:
            continue
        value = given[one.name]
        try:
            if one.handler is None:
                convert(value, one.type, str_keys=True)
            else:
                read(one.handler, value)
        except ValueError as error:
            told += problems(error, (one.name,), value)
        except Exception as error:
            told.append(((one.name,), unquoted(f"is not accepted: {type(error).__name__}", value)))
    return told or [((), "is not accepted")]


def giver(
    label: str, type: object, schema: JSON, handler: Adapter | None
) -> Callable[[object], JSON]:
    """What turns the value a function gave into JSON. It raises ValueError or TypeError if it is
    not what was declared."""
    if type is None:
        return _silent(label)
    if schema == {}:
        return plain
    whole = defstruct("Given", [("value", object if handler else type)])

    def gives(value: object) -> JSON:
        if handler is not None:
            return _settled(
                schema,
                plain(handler.dump_python(value, mode="json", by_alias=True, warnings="error")),
            )
        made = plain(value)
        try:
            convert({"value": made}, whole, str_keys=True)
        except Exception:  # as above; the schema decides
            return _settled(schema, made)
        return made

    return gives


def _settled(schema: JSON, value: JSON) -> JSON:
    told: list[Problem] = []
    value = settle(schema, value, ("result",), told)
    if told:
        raise ValueError("; ".join(f"{name}: {why}" for name, why in by_parameter(told).items()))
    return value


def _silent(label: str) -> Callable[[object], None]:
    def gives(value: object) -> None:
        if value is not None:
            warnings.warn(
                f"{label} gave a value and is declared to give none: it is dropped",
                ToolWarning,
                stacklevel=2,
            )

    return gives
