"""A tool from a JSON Schema and a callable. The schema is compiled once and validates every input.

This module is separate because it needs jsonschema-rs, which tools from functions do not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Unpack

from jsonschema_rs import ValidationError, Validator, validator_for

from toolwire.conversation.json import JSON, Object, kind_of
from toolwire.tools.business_key import key_of_arguments
from toolwire.tools.errors import InvalidInput, InvalidResult, ToolDefinitionError
from toolwire.tools.options import (
    Behaviour,
    ToolSettings,
    check_options,
    name_as_words,
    report_missing_descriptions,
    require_known_options,
    tool_id,
)
from toolwire.tools.runnable import Body, Runnable, ToolContext
from toolwire.tools.schema import inline_input_schema, inline_schema
from toolwire.tools.validate import Problem, by_parameter, problem_text, to_json


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
    """Make a tool from a JSON Schema.

    Args:
        id: `Toolkit.Tool@1.2.3`.
        description: text for models.
        input_schema: JSON Schema of an object. Servers list it as it is, with its `$defs`.
        fn: called with the arguments as one mapping, and with the ToolContext if it has a second
            parameter. The same holds for `probe`; `key` gets the arguments alone.
        output_schema: JSON Schema of the result: `{}` for any value, None for no value.
        remote: the tool runs on another server.

    Raises:
        ToolDefinitionError: a schema or an option is invalid.
    """
    require_known_options(options, Behaviour.__optional_keys__, function="tool.from_schema")
    settings = check_options(tool_id("", "", {"id": id}), options)
    label = str(settings.id)
    inlined = inline_input_schema(label, input_schema)
    assert isinstance(input_schema, dict)
    schema: Object = {"type": "object", "properties": {}, **input_schema}
    decode_arguments = _argument_decoder(_compile(label, "input", schema))
    encode_result: Callable[[object], JSON] = _encode_nothing
    if output_schema is not None:
        inline_schema(label, "output", output_schema)
        encode_result = to_json
        if output_schema != {}:
            encode_result = _result_encoder(_compile(label, "output", output_schema))
    report_missing_descriptions(
        settings,
        _parameters_without_description(inlined),
        has_description=bool(description),
        stacklevel=3,
    )
    return Runnable(
        id=settings.id,
        description=description or name_as_words(settings.id.name),
        input_schema=schema,
        model_schema=None if inlined == schema else inlined,
        output_schema=output_schema,
        body=_body(label, fn),
        decode_arguments=decode_arguments,
        encode_result=encode_result,
        is_async=inspect.iscoroutinefunction(fn)
        or inspect.iscoroutinefunction(getattr(fn, "__call__", fn)),  # noqa: B004
        needs=settings.needs,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        on_crash=settings.on_crash,
        probe=None if settings.probe is None else _body(label, settings.probe),
        key=_business_key(settings, inlined),
        read_only=settings.read_only,
        idempotent=settings.idempotent,
        deprecated=settings.deprecated,
        remote=remote,
    )


def _compile(tool: str, which: str, schema: JSON) -> Validator:
    if not isinstance(schema, dict | bool):
        raise ToolDefinitionError(
            tool,
            f"the {which} schema is not a JSON Schema: expected an object, got {kind_of(schema)}",
        )
    try:
        return validator_for(schema, mask="it", offline=True)
    except ValidationError as error:
        path = "".join(f"/{step}" for step in error.instance_path)
        raise ToolDefinitionError(
            tool, f"the {which} schema is not a JSON Schema: {path}: {error.message}"
        ) from None
    except (ValueError, TypeError) as error:
        raise ToolDefinitionError(
            tool, f"the {which} schema is not a JSON Schema: {error}"
        ) from None


def _parameters_without_description(schema: Object) -> list[str]:
    properties = schema["properties"]
    if not isinstance(properties, dict):
        return []
    return [
        name
        for name, property in properties.items()
        if not (isinstance(property, dict) and property.get("description"))
    ]


def _problems(validator: Validator, value: JSON) -> list[Problem]:
    try:
        return [
            problem for error in validator.iter_errors(value) for problem in _problems_of(error)
        ]
    except ValueError:  # text with a lone surrogate
        return [((), "is not accepted")]


def _problems_of(error: ValidationError) -> list[Problem]:
    """The problems of a validation error. A missing or unknown parameter has its own path."""
    path, kind = tuple(error.instance_path), error.kind
    if kind.name == "required":
        return [((*path, str(getattr(kind, "property", ""))), "is missing")]
    if kind.name in ("additionalProperties", "unevaluatedProperties"):
        return [((*path, name), "is unknown") for name in getattr(kind, "unexpected", ())]
    return [(path, error.message.removeprefix("it "))]


def _is_valid(validator: Validator, value: JSON) -> bool:
    try:
        return validator.is_valid(value)
    except ValueError:  # text with a lone surrogate
        return False


def _argument_decoder(validator: Validator) -> Callable[[Object], Mapping[str, object]]:
    def decode(input: Object) -> Mapping[str, object]:
        if _is_valid(validator, input):
            return input
        raise InvalidInput(by_parameter(_problems(validator, input)))

    return decode


def _result_encoder(validator: Validator) -> Callable[[object], JSON]:
    def encode(value: object) -> JSON:
        encoded = to_json(value)
        if _is_valid(validator, encoded):
            return encoded
        problems = [(("result", *path), text) for path, text in _problems(validator, encoded)]
        raise InvalidResult(problem_text(problems))

    return encode


def _encode_nothing(value: object) -> JSON:
    return None


def _business_key(
    settings: ToolSettings, schema: Object
) -> Callable[[Mapping[str, object]], JSON] | None:
    label, key = str(settings.id), settings.key
    if isinstance(key, tuple):
        properties = schema["properties"]
        assert isinstance(properties, dict)
        defaults = {
            name: property["default"]
            for name, property in properties.items()
            if isinstance(property, dict) and "default" in property
        }
        return key_of_arguments(label, key, properties, defaults)
    if key is None:
        return None
    function = _body(label, key)
    no_context = ToolContext("", label)
    return lambda arguments: to_json(function(arguments, no_context))


def _body(tool: str, fn: Callable[..., object]) -> Body:
    """A function of arguments and context that passes the context only if `fn` takes it."""
    error = ToolDefinitionError(
        tool, "the callable takes the arguments as one mapping, and optionally the ToolContext"
    )
    try:
        parameters = [
            parameter
            for parameter in inspect.signature(fn).parameters.values()
            if parameter.kind
            in (
                parameter.POSITIONAL_ONLY,
                parameter.POSITIONAL_OR_KEYWORD,
                parameter.VAR_POSITIONAL,
            )
        ]
    except (TypeError, ValueError):
        raise error from None
    required = [
        parameter
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL
    ]
    if not parameters or len(required) > 2:
        raise error
    if len(parameters) > 1 or parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return fn

    def without_context(arguments: Mapping[str, object], context: ToolContext) -> object:
        return fn(arguments)

    return without_context
