"""A JSON Schema and a callable as a tool: the schema is checked and compiled once, every input and
result is judged by it.

Kept apart because it needs a validator that tools made from functions do not. Runs nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Unpack

from jsonschema_rs import ValidationError, Validator, validator_for

from toolwire.conversation.json import JSON, Object, kind_of
from toolwire.tools.errors import InvalidInput, ToolDefinitionError
from toolwire.tools.options import Behaviour, named, said, undescribed, words
from toolwire.tools.runnable import Body, Runnable, ToolContext
from toolwire.tools.schema import given, of_input
from toolwire.tools.validate import Problem, by_parameter, plain

_LATEST = "https://json-schema.org/draft/2020-12/schema"


def from_schema(
    id: str,
    description: str,
    input_schema: JSON,
    fn: Callable[..., object],
    *,
    output_schema: JSON = {},  # noqa: B006  (any value; never changed)
    remote: bool = False,
    **options: Unpack[Behaviour],
) -> Runnable:
    """The tool of a schema.

    `fn` is called with the arguments as one mapping, as they came, and with the Context if it takes
    a second parameter. So is a `probe`. `output_schema`: `{}` is any value, None is no value.
    Raises ToolDefinitionError.
    """
    own = said(named("", "", {"id": id}), options)
    label = str(own.id)
    schema = of_input(label, _modern(input_schema))
    output = None if output_schema is None else given(label, "output", _modern(output_schema))
    takes = _taker(_compiled(label, "input", schema))
    gives = (
        _nothing
        if output_schema is None
        else plain
        if output == {}
        else _giver(_compiled(label, "output", output))
    )
    undescribed(own, _undescribed(schema), bool(description), stacklevel=3)
    return Runnable(
        id=own.id,
        description=description or words(own.id.name),
        input_schema=schema,
        output_schema=output,
        body=_called(label, fn),
        takes=takes,
        gives=gives,
        is_async=inspect.iscoroutinefunction(fn)
        or inspect.iscoroutinefunction(getattr(fn, "__call__", fn)),  # noqa: B004
        needs=own.needs,
        timeout=own.timeout,
        concurrency=own.concurrency,
        on_crash=own.on_crash,
        probe=None if own.probe is None else _called(label, own.probe),
        read_only=own.read_only,
        idempotent=own.idempotent,
        deprecated=own.deprecated,
        remote=remote,
    )


def _modern(schema: JSON) -> JSON:
    """The schema without the name of the dialect that is meant anyway; an older one keeps it, and
    is read by it."""
    if isinstance(schema, dict) and str(schema.get("$schema", "")).rstrip("#") == _LATEST:
        return {key: value for key, value in schema.items() if key != "$schema"}
    return schema


def _compiled(label: str, which: str, schema: JSON) -> Validator:
    if not isinstance(schema, dict | bool):
        raise ToolDefinitionError(
            label,
            f"the {which} schema is not a JSON Schema: expected an object, got {kind_of(schema)}",
        )
    try:
        return validator_for(schema, mask="it", offline=True)
    except ValidationError as error:
        place = "".join(f"/{step}" for step in error.instance_path)
        raise ToolDefinitionError(
            label, f"the {which} schema is not a JSON Schema: {place}: {error.message}"
        ) from None
    except (ValueError, TypeError) as error:
        raise ToolDefinitionError(
            label, f"the {which} schema is not a JSON Schema: {error}"
        ) from None


def _undescribed(schema: Object) -> list[str]:
    properties = schema["properties"]
    known = properties if isinstance(properties, dict) else {}
    return [
        name
        for name, one in known.items()
        if not (isinstance(one, dict) and one.get("description"))
    ]


def _problems(error: ValidationError) -> list[Problem]:
    """What a schema finds wrong, under the name of the parameter: also what is missing, and what is
    too much."""
    at, kind = tuple(error.instance_path), error.kind
    if kind.name == "required":
        return [((*at, str(getattr(kind, "property", ""))), "is missing")]
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        return [((*at, name), "is unknown") for name in getattr(kind, "unexpected", ())]
    return [(at, error.message.removeprefix("it "))]


def _told(judge: Validator, value: JSON) -> list[Problem]:
    try:
        return [problem for error in judge.iter_errors(value) for problem in _problems(error)]
    except ValueError:  # text that is no Unicode
        return [((), "is not accepted")]


def _fits(judge: Validator, value: JSON) -> bool:
    try:
        return judge.is_valid(value)
    except ValueError:
        return False


def _taker(judge: Validator) -> Callable[[Object], Mapping[str, object]]:
    def takes(given: Object) -> Mapping[str, object]:
        if _fits(judge, given):
            return given
        raise InvalidInput(by_parameter(_told(judge, given)))

    return takes


def _giver(judge: Validator) -> Callable[[object], JSON]:
    def gives(value: object) -> JSON:
        made = plain(value)
        if _fits(judge, made):
            return made
        told = [(("result", *at), why) for at, why in _told(judge, made)]
        raise ValueError("; ".join(f"{name}: {why}" for name, why in by_parameter(told).items()))

    return gives


def _nothing(value: object) -> JSON:
    return None


def _called(label: str, fn: Callable[..., object]) -> Body:
    """The callable with the arguments, and with the context if it has a place for it."""
    try:
        places = [
            one
            for one in inspect.signature(fn).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL)
        ]
    except (TypeError, ValueError):
        raise ToolDefinitionError(
            label, "the callable takes the arguments as one mapping, and perhaps the Context"
        ) from None
    needed = sum(one.default is one.empty and one.kind is not one.VAR_POSITIONAL for one in places)
    if not places or needed > 2:
        raise ToolDefinitionError(
            label, "the callable takes the arguments as one mapping, and perhaps the Context"
        )
    if len(places) == 1 and places[0].kind is not inspect.Parameter.VAR_POSITIONAL:

        def alone(arguments: Mapping[str, object], context: ToolContext) -> object:
            return fn(arguments)

        return alone
    return fn
