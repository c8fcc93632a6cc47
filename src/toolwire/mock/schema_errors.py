"""The error texts of each provider for a field or type that its API does not have.

The texts are those that users reported; where none was reported, the text follows others of the
same server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, dump, snake
from toolwire.mock.error_bodies import ErrorResponse
from toolwire.profiles.request_schema import Violation
from toolwire.profiles.request_types import SCHEMAS, is_accepted
from toolwire.profiles.table import Profile


def check_schema(
    body: Object, profile: Profile, headers: Mapping[str, str]
) -> ErrorResponse | None:
    """The refusal of a request with a field or a type that its API does not have."""
    find = SCHEMAS.get(profile.name)
    if find is None:
        return None
    write = TEXTS[profile.wire]
    for violation in find(headers).violations(body):
        if not is_accepted(violation, profile):
            return replace(write(violation), violation_path=violation.path)
    return None


# --- the texts ------------------------------------------------------------------------------------

_ARTICLES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "list": "an array",
    "object": "an object",
}


def type_name(value: JSON) -> str:
    """The JSON name of the type of a value."""
    if isinstance(value, bool):
        return "boolean"
    names: dict[type, str] = {str: "string", int: "integer", float: "number", list: "list"}
    return names.get(type(value), "object" if isinstance(value, dict) else "null")


def _and(words: tuple[str, ...] | list[str], last: str) -> str:
    if len(words) < 3:
        return f" {last} ".join(words)
    comma = "," if last == "and" else ""
    return f"{', '.join(words[:-1])}{comma} {last} {words[-1]}"


def brackets(path: JsonPath) -> str:
    """A path in the notation of a program: `messages[0].content`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).lstrip(".")


def _openai(violation: Violation) -> ErrorResponse:
    at = brackets(violation.path)
    if violation.fault == "unknown":
        return ErrorResponse(f"Unknown parameter: '{at}'.", param=at, code="unknown_parameter")
    if violation.fault == "missing":
        return ErrorResponse(
            f"Missing required parameter: '{at}'.", param=at, code="missing_required_parameter"
        )
    if violation.fault in ("value", "tag") and isinstance(violation.value, str):
        values = _and([f"'{value}'" for value in violation.expected], "and")
        return ErrorResponse(
            f"Invalid value: '{violation.value}'. Supported values are: {values}.",
            param=at,
            code="invalid_value",
        )
    kinds = _openai_kinds(violation.expected)
    wanted = kinds[0] if len(kinds) == 1 else f"one of {' or '.join(kinds)}"
    got = _ARTICLES.get(type_name(violation.value), "null")
    return ErrorResponse(
        f"Invalid type for '{at}': expected {wanted}, but got {got} instead.",
        param=at,
        code="invalid_type",
    )


def _openai_kinds(expected: tuple[str, ...]) -> list[str]:
    """The accepted types, as the server names them; among alternatives, a list is a list of
    objects."""
    kinds = list(dict.fromkeys(_ARTICLES.get(type_name, "a string") for type_name in expected))
    if len(kinds) == 1:
        return kinds
    return ["array of objects" if kind == _ARTICLES["list"] else kind for kind in kinds]


def _chat(violation: Violation) -> ErrorResponse:
    if violation.fault == "unknown" and len(violation.path) == 1:
        return ErrorResponse(f"Unrecognized request argument supplied: {violation.path[0]}")
    return _openai(violation)


_PYDANTIC = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "list": "list",
    "object": "dictionary",
}


def _pydantic(violation: Violation) -> tuple[str, str]:
    """The type of an error of pydantic, and its text."""
    if violation.fault == "unknown":
        return "extra_forbidden", "Extra inputs are not permitted"
    if violation.fault == "missing":
        return "missing", "Field required"
    quoted = [f"'{value}'" for value in violation.expected]
    if violation.fault == "tag":
        return "union_tag_invalid", (
            f"Input tag '{violation.value}' found using '{violation.path[-1]}' does not match any"
            f" of the expected tags: {', '.join(quoted)}"
        )
    if violation.fault == "value":
        return "literal_error", f"Input should be {_and(quoted, 'or')}"
    wanted = _PYDANTIC.get(violation.expected[-1] if violation.expected else "", "dictionary")
    return f"{wanted}_type", f"Input should be a valid {wanted}"


def _anthropic(violation: Violation) -> ErrorResponse:
    path = violation.tagged[:-1] if violation.fault == "tag" else violation.tagged
    where = ".".join(map(str, path))
    return ErrorResponse(f"{where}: {_pydantic(violation)[1]}")


def _mistral(violation: Violation) -> ErrorResponse:
    kind, text = _pydantic(violation)
    path = violation.tagged[:-1] if violation.fault == "tag" else violation.tagged
    return ErrorResponse(text, 422, code=kind, path=path, value=violation.value)


_PROTO = {
    "string": "TYPE_STRING",
    "integer": "TYPE_INT32",
    "number": "TYPE_FLOAT",
    "boolean": "TYPE_BOOL",
}


def _gemini(violation: Violation) -> ErrorResponse:
    path = tuple(snake(step) if isinstance(step, str) else step for step in violation.path)
    if violation.fault == "unknown":
        at = f" at '{brackets(path[:-1])}'" if len(path) > 1 else ""
        name = violation.path[-1]
        return ErrorResponse(
            f'Invalid JSON payload received. Unknown name "{name}"{at}: Cannot find field.'
        )
    if violation.fault == "count":
        return ErrorResponse(
            f"* GenerateContentRequest.{brackets(path)}.data: required oneof field 'data' must have"
            " one initialized field\n"
        )
    if (violation.path[-1] == "parts" and not violation.value) or violation.fault == "missing":
        return ErrorResponse(
            f"* GenerateContentRequest.{brackets(path)}: contents.parts must not be empty.\n"
        )
    wanted = violation.expected[0] if violation.expected else ""
    api = "type.googleapis.com/google.ai.generativelanguage.v1beta"
    kind = _PROTO.get(wanted) or f"{api}.{violation.owner}"
    value = dump(violation.value).decode()
    return ErrorResponse(f"Invalid value at '{brackets(path)}' ({kind}), {value}")


def _interactions(violation: Violation) -> ErrorResponse:
    at = brackets(violation.path)
    if violation.fault == "unknown":
        return _gemini(violation)
    if violation.fault == "missing":
        return ErrorResponse(f"Missing required field '{at}'.", code="invalid_request")
    wanted = " or ".join(violation.expected)
    return ErrorResponse(f"Invalid value at '{at}': expected {wanted}.", code="invalid_request")


_AWS_VALUES = {
    "string": "STRING_VALUE",
    "integer": "NUMBER_VALUE",
    "number": "NUMBER_VALUE",
    "boolean": "TRUE_VALUE",
    "list": "START_ARRAY",
    "object": "START_OBJECT",
}
_AWS_TYPES = {
    "string": "a String",
    "integer": "an Integer",
    "number": "a Float",
    "boolean": "a Boolean",
    "list": "a List",
    "object": "an Object",
}


def _bedrock(violation: Violation) -> ErrorResponse:
    steps = (f"{step + 1}.member" if isinstance(step, int) else step for step in violation.path)
    at = f"at '{'.'.join(steps)}' failed to satisfy constraint: Member must"
    found = "1 validation error detected: Value"
    if violation.fault == "missing":
        return ErrorResponse(f"{found} null {at} not be null")
    if violation.fault == "count":
        where, keys = ".".join(map(str, violation.path)), ", ".join(violation.expected)
        return ErrorResponse(
            f"The {violation.owner} object at {where} must set one of the following keys: {keys}."
        )
    if violation.fault == "empty":
        value = "''" if violation.value == "" else ""
        text = f"{found} {value} {at}".replace("  ", " ")
        return ErrorResponse(f"{text} have length greater than or equal to 1")
    if violation.fault == "value":
        values = ", ".join(violation.expected)
        return ErrorResponse(f"{found} '{violation.value}' {at} satisfy enum value set: [{values}]")
    given = _AWS_VALUES.get(type_name(violation.value), "NULL_VALUE")
    wanted = _AWS_TYPES.get(violation.expected[0] if violation.expected else "", "an Object")
    return ErrorResponse(f"{given} can not be converted to {wanted}", code="SerializationException")


_COHERE_HELP = "For proper usage, please refer to https://docs.cohere.com/reference/chat"


def _cohere(violation: Violation) -> ErrorResponse:
    name = next((step for step in reversed(violation.path) if isinstance(step, str)), "")
    if violation.fault == "unknown":
        text = f"unknown field: parameter '{name}' is not a valid field. {_COHERE_HELP}"
        return ErrorResponse(text, 422)
    if violation.fault == "missing":
        return ErrorResponse(f"invalid request: {brackets(violation.path)} is required.")
    given, wanted = type_name(violation.value), " or ".join(violation.expected)
    text = f"invalid type: parameter {name} is of type {given} but should be of type {wanted}."
    return ErrorResponse(f"{text} {_COHERE_HELP}", 422)


_GO = {
    "string": "string",
    "integer": "int",
    "number": "float64",
    "boolean": "bool",
    "list": "[]interface {}",
    "object": "map[string]interface {}",
}
_GO_VALUES = {"integer": "number", "boolean": "bool", "list": "array"}


def _ollama(violation: Violation) -> ErrorResponse:
    at = ".".join(step for step in violation.path if isinstance(step, str))
    given = type_name(violation.value)
    wanted = _GO.get(violation.expected[0] if violation.expected else "", "string")
    return ErrorResponse(
        f"json: cannot unmarshal {_GO_VALUES.get(given, given)} into Go struct field"
        f" ChatRequest.{at} of type {wanted}"
    )


TEXTS: dict[str, Callable[[Violation], ErrorResponse]] = {
    "openai-chat": _chat,
    "openai-responses": _openai,
    "azure-foundry": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "bedrock": _bedrock,
    "mistral": _mistral,
    "cohere": _cohere,
    "ollama": _ollama,
}
"""A wire and how its server writes a violation of its types."""
