"""Decode the arguments of a function from JSON, and encode its result as JSON.

A valid input is converted in one step. Only an invalid one is walked, to report every problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

from msgspec import UNSET, Struct, convert, defstruct
from msgspec.structs import asdict

from toolwire.conversation.json import JSON, Object
from toolwire.tools.errors import InvalidInput, InvalidResult
from toolwire.tools.options import ToolWarning
from toolwire.tools.pydantic_types import Adapter, problems, read
from toolwire.tools.schema import NO_PARAMETERS, subschemas
from toolwire.tools.validate import (
    Problem,
    by_parameter,
    hide_value,
    problem_text,
    to_json,
    validate,
)


class Parameter(Struct, frozen=True, eq=False):
    """A parameter of a function."""

    name: str
    type: object
    schema: Object
    required: bool
    adapter: Adapter | None = None
    default: object = UNSET


def argument_decoder(
    schema: Object, parameters: list[Parameter]
) -> Callable[[Object], Mapping[str, object]]:
    """A function from an input to arguments. It raises InvalidInput with every problem."""
    if not parameters:
        return _decode_nothing
    fields = [
        (parameter.name, object if parameter.adapter else parameter.type)
        + (() if parameter.required else (UNSET,))
        for parameter in parameters
    ]
    struct = defstruct("Arguments", fields, kw_only=True, forbid_unknown_fields=True)  # type: ignore[arg-type]
    adapters = [
        (parameter.name, parameter.adapter)
        for parameter in parameters
        if parameter.adapter is not None
    ]
    has_optional = not all(parameter.required for parameter in parameters)
    # pydantic accepts true for the 1 of an enum, even in strict mode
    validate_first = bool(adapters) or any(map(_convert_accepts_more, subschemas(schema)))

    def decode_valid(input: Object) -> dict[str, object]:
        arguments = asdict(convert(input, struct, str_keys=True))
        if has_optional:
            arguments = {name: value for name, value in arguments.items() if value is not UNSET}
        for name, adapter in adapters:
            if name in arguments:
                arguments[name] = read(adapter, input[name])
        return arguments

    def decode(input: Object) -> Mapping[str, object]:
        if not validate_first:
            try:
                return decode_valid(input)
            except Exception:  # code of a type may raise anything; validation finds the problem
                pass
        found: list[Problem] = []
        normalized = validate(schema, input, (), found)
        if not found and isinstance(normalized, dict):
            try:
                return decode_valid(normalized)
            except Exception:
                found = _type_problems(parameters, normalized)
        raise InvalidInput(by_parameter(found))

    return decode


def _decode_nothing(input: Object) -> Mapping[str, object]:
    if not input:
        return {}
    found: list[Problem] = []
    validate(NO_PARAMETERS, input, (), found)
    raise InvalidInput(by_parameter(found))


def _convert_accepts_more(schema: Object) -> bool:
    """True if msgspec accepts more than the schema: a number as a decimal, a repeated set item."""
    return schema.get("format") == "decimal" or schema.get("uniqueItems") is True


def _type_problems(parameters: list[Parameter], input: Object) -> list[Problem]:
    """The problems that code of a type finds in values that match the schema."""
    found: list[Problem] = []
    for parameter in parameters:
        if parameter.name not in input:
            continue
        value = input[parameter.name]
        try:
            if parameter.adapter is None:
                convert(value, parameter.type, str_keys=True)
            else:
                read(parameter.adapter, value)
        except ValueError as error:
            found += problems(error, (parameter.name,), value)
        except Exception as error:
            text = hide_value(f"is not accepted: {type(error).__name__}", value)
            found.append(((parameter.name,), text))
    return found or [((), "is not accepted")]


def result_encoder(
    tool: str, type: object, schema: JSON, adapter: Adapter | None
) -> Callable[[object], JSON]:
    """A function from a returned value to JSON. It raises InvalidResult if the value does not
    match."""
    if type is None:
        return _discard_result(tool)
    if schema == {}:
        return to_json
    struct = defstruct("Result", [("value", object if adapter else type)])

    def encode(value: object) -> JSON:
        if adapter is not None:
            dumped = adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
            return _validate_result(schema, to_json(dumped))
        encoded = to_json(value)
        try:
            convert({"value": encoded}, struct, str_keys=True)
        except Exception:  # code of a type may raise anything; the schema decides
            return _validate_result(schema, encoded)
        return encoded

    return encode


def _validate_result(schema: JSON, value: JSON) -> JSON:
    found: list[Problem] = []
    value = validate(schema, value, ("result",), found)
    if found:
        raise InvalidResult(problem_text(found))
    return value


def _discard_result(tool: str) -> Callable[[object], None]:
    def encode(value: object) -> None:
        if value is not None:
            warnings.warn(
                f"{tool} returned a value, but is declared to return None: it is discarded",
                ToolWarning,
                stacklevel=2,
            )

    return encode
