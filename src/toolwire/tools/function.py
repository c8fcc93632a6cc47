"""`@tool`: a typed Python function as a tool.

The signature becomes the schema and the docstring the description; the function itself stays
callable. An unsupported signature raises ToolDefinitionError when the function is decorated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from importlib import import_module
from typing import (
    Annotated,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from msgspec import UNSET

from toolwire.conversation.json import JSON, Object
from toolwire.tools.argument_codec import Parameter, argument_decoder, result_encoder
from toolwire.tools.business_key import key_of_arguments
from toolwire.tools.docstrings import read_docstring
from toolwire.tools.errors import InvalidResult, ToolDefinitionError
from toolwire.tools.options import (
    Behaviour,
    Options,
    ToolSettings,
    check_options,
    name_as_words,
    report_missing_descriptions,
    tool_id,
)
from toolwire.tools.pydantic_types import Adapter, adapter
from toolwire.tools.runnable import Body, Runnable, ToolContext
from toolwire.tools.schema import (
    NO_PARAMETERS,
    CircularSchema,
    UnsupportedType,
    inline_references,
    schema_of_type,
    simplify,
)
from toolwire.tools.validate import Problem, to_json, validate

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_UNSUPPORTED_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: (
        "*{} takes arguments without names: give each its own parameter, or take a list"
    ),
    inspect.Parameter.VAR_KEYWORD: (
        "**{} takes arguments that no schema names: give each its own parameter, or take a dict"
    ),
    inspect.Parameter.POSITIONAL_ONLY: (
        "{} is positional-only, but arguments have names: remove the / from the signature"
    ),
}
_AWAITABLE = (Awaitable, Coroutine)
_JSON_ALIASES = {str(JSON): object, str(Object): dict[str, object]}
"""toolwire's recursive JSON aliases, which have no finite schema: any value is accepted."""


class DecoratedFunction(Generic[P, R_co]):
    """A function that a server can run. Calling it calls the function."""

    __name__: str

    def __init__(self, function: Callable[P, R_co], runnable: Runnable) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.runnable = runnable

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)


class Function(DecoratedFunction[P, R_co]):
    """A function decorated with `@tool`. Calling it calls the function; `runnable` is the tool."""

    def __repr__(self) -> str:
        return f"<tool {self.runnable.id}>"


class FromSchema(Protocol):
    """The signature of `toolwire.tools.from_schema.from_schema`."""

    def __call__(
        self,
        id: str,
        description: str,
        input_schema: JSON,
        fn: Callable[..., object],
        *,
        output_schema: JSON = ...,
        remote: bool = False,
        **options: Unpack[Behaviour],
    ) -> Runnable: ...


class _Tool:
    """`@tool` and `@tool(...)` make a tool from a typed function, sync or async.

    `tool.from_schema` makes one from a JSON Schema and a callable.
    """

    @overload
    def __call__(
        self, function: Callable[P, R], /, **options: Unpack[Options]
    ) -> Function[P, R]: ...

    @overload
    def __call__(
        self, /, **options: Unpack[Options]
    ) -> Callable[[Callable[P, R]], Function[P, R]]: ...

    def __call__(
        self, function: Callable[P, R] | None = None, /, **options: Unpack[Options]
    ) -> Function[P, R] | Callable[[Callable[P, R]], Function[P, R]]:
        if function is not None:
            return _decorate(function, options)
        return lambda decorated: _decorate(decorated, options)

    @property
    def from_schema(self) -> FromSchema:
        """`from_schema(id, description, input_schema, fn, output_schema=…, …)`."""
        try:
            factory: FromSchema = import_module("toolwire.tools.from_schema").from_schema
        except ImportError as error:
            raise ToolDefinitionError(
                "from_schema", f"needs {error.name}: install toolwire[tools]"
            ) from None
        return factory


tool = _Tool()
"""Make a tool from a typed function, sync or async: `@tool`, or `@tool(id="Weather.Get@1.0.0")`.

The function can still be called as before; `function.runnable` is the tool. Its docstring describes
the tool and its parameters for the model. `tool.from_schema` makes a tool from a JSON Schema and a
callable instead.

All options are keyword arguments:

- `id`: `Toolkit.Tool` or `Toolkit.Tool@1.2.3`; `toolkit`, `name` and `version` set the pieces. By
  default they come from the module and the function, with version 0.1.0.
- `description`: replaces the first paragraph of the docstring.
- `read_only`: the tool has no effect, so its calls are not recorded.
- `idempotent`: the tool may run twice with the same input.
- `key`: the business key, by which a repeated call under a new call id is recognized: names of
  arguments, or a function of arguments.
- `on_crash`: what a repeated call does after a crash: `report`, `retry`, `probe` or
  `transactional`.
- `probe`: a function that finds out how a call ended, for `on_crash="probe"`.
- `timeout`: seconds that a call may take, 55 by default; None for no limit.
- `concurrency`: how many calls may run at once in one process.
- `authorization`, `secrets`, `user_id`: the tokens, secrets and user id that the tool gets in its
  `ToolContext`.
- `deprecated`: a text that says what to use instead.
- `strict`: raise an error instead of a warning if a description is missing.

Raises:
    ToolDefinitionError: The function or an option is not valid; the error says what to change.
"""


def _decorate(function: Callable[P, R], options: Options) -> Function[P, R]:
    if isinstance(function, Function):
        function = function.function
    return Function(function, runnable(function, options, stacklevel=4))


def runnable(
    function: Callable[..., object],
    options: Options,
    *,
    stacklevel: int = 2,
    encode: Callable[[object], JSON] | None = None,
) -> Runnable:
    """Make the tool of a function. Raises ToolDefinitionError.

    With `encode`, the function is not a tool for models: `encode` converts its result.
    """
    inner = _inner(function)
    module = getattr(inner, "__module__", None) or "tools"
    settings = check_options(tool_id(_name(function, inner), module, options), options)
    label = str(settings.id)
    if isinstance(function, type) or not callable(function):
        raise ToolDefinitionError(label, "a tool is a function; options have names: @tool(id=…)")
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise ToolDefinitionError(label, "a tool returns one value: use return instead of yield")
    hints = _hints(label, inner)
    doc = read_docstring(function.__doc__ if inspect.isroutine(function) else inner.__doc__)
    context, parameters = _parameters(label, function, hints, doc.parameters)
    is_async, output = _output(function, inner, hints)
    if settings.on_crash == "transactional" and (context is None or not is_async):
        raise ToolDefinitionError(
            label,
            'on_crash="transactional" writes with context.transaction: make the tool async, with a'
            " ToolContext parameter",
        )
    description = options.get("description") or doc.description
    output_schema: JSON = None
    if encode is None:
        report_missing_descriptions(
            settings,
            [param.name for param in parameters if not param.schema.get("description")],
            has_description=bool(description),
            stacklevel=stacklevel + 1,
        )
        output_schema, encode = _result(label, output)
    schema = _input_schema(parameters)
    return Runnable(
        id=settings.id,
        description=description or name_as_words(settings.id.name),
        input_schema=schema,
        output_schema=output_schema,
        body=_body(function, context),
        decode_arguments=argument_decoder(schema, parameters),
        encode_result=encode,
        is_async=is_async,
        needs=settings.needs,
        timeout=settings.timeout,
        concurrency=settings.concurrency,
        on_crash=settings.on_crash,
        probe=_of_arguments(settings, "probe", parameters),
        key=_business_key(settings, parameters),
        read_only=settings.read_only,
        idempotent=settings.idempotent,
        deprecated=settings.deprecated,
    )


def _name(function: Callable[..., object], inner: Callable[..., object]) -> str:
    if inner is type(function).__call__:
        return type(function).__name__
    return str(getattr(function, "__name__", None) or getattr(inner, "__name__", "tool"))


def _inner(function: Callable[..., object]) -> Callable[..., object]:
    """The function that has the code and the annotations, inside partials and wrappers."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _hints(label: str, inner: Callable[..., object]) -> dict[str, object]:
    aliases = {
        name: _JSON_ALIASES[value]
        for name, value in getattr(inner, "__globals__", {}).items()
        if isinstance(value, str) and value in _JSON_ALIASES
    }
    try:
        return get_type_hints(inner, localns=aliases, include_extras=True)
    except NameError as error:
        raise ToolDefinitionError(
            label,
            f"the annotation {error.name!r} cannot be resolved: import or define it at the top of"
            " the module, at run time too",
        ) from None
    except Exception as error:  # an annotation is code
        raise ToolDefinitionError(label, f"its annotations cannot be resolved: {error}") from None


def _parameters(
    label: str, function: Callable[..., object], hints: dict[str, object], docs: dict[str, str]
) -> tuple[str | None, list[Parameter]]:
    """The name of the ToolContext parameter (or None), and all other parameters."""
    context: str | None = None
    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _UNSUPPORTED_KINDS:
            raise ToolDefinitionError(label, _UNSUPPORTED_KINDS[parameter.kind].format(name))
        if name not in hints:
            raise ToolDefinitionError(
                label, f"the parameter {name} has no type: annotate it (`object` for any value)"
            )
        hint = hints[name]
        if hint is ToolContext or ToolContext in get_args(hint):
            if context is not None:
                raise ToolDefinitionError(
                    label, f"{context} and {name} are both a ToolContext: remove one of them"
                )
            context = name
        elif name.startswith("_"):
            raise ToolDefinitionError(
                label, f"the parameter {name}: names that begin with _ are reserved for protocols"
            )
        else:
            parameters.append(_parameter(label, name, hint, parameter.default, docs.get(name)))
    return context, parameters


def _parameter(label: str, name: str, hint: object, default: object, doc: str | None) -> Parameter:
    what = f"the parameter {name}"
    type_schema, type_adapter = _schema_of(label, what, hint, mode="validation")
    schema: Object = dict(type_schema) if isinstance(type_schema, dict) else {}
    description = _description_in(hint) or doc or schema.get("description")
    if isinstance(description, str) and description:
        schema["description"] = description
    required = default is inspect.Parameter.empty
    if not required and default is not UNSET:
        schema["default"] = _default(label, what, schema, default)
    return Parameter(name, hint, schema, required, type_adapter, default)


def _default(label: str, what: str, schema: Object, default: object) -> JSON:
    try:
        value = to_json(default)
    except InvalidResult as error:
        raise ToolDefinitionError(
            label,
            f"{what}: JSON cannot express its default ({error}): use None, and create the value in"
            " the function",
        ) from None
    problems: list[Problem] = []
    validate(schema, value, (), problems)
    if problems:
        raise ToolDefinitionError(
            label,
            f"{what}: its default does not match its type ({problems[0][1]}): widen the type, as in"
            " `int | None`",
        )
    return value


def _schema_of(label: str, what: str, hint: object, *, mode: str) -> tuple[JSON, Adapter | None]:
    """The schema of a type, and its adapter if it is a pydantic type."""
    try:
        handler = adapter(hint)
        if handler is None:
            return schema_of_type(hint), None
        return simplify(inline_references(handler.json_schema(mode=mode), titles=False)), handler
    except (CircularSchema, RecursionError):
        raise ToolDefinitionError(
            label,
            f"{what}: a type that contains itself cannot be written without references: use a"
            " list, or `object`",
        ) from None
    except UnsupportedType as error:
        raise ToolDefinitionError(label, f"{what}: {error}") from None


def _description_in(hint: object) -> str | None:
    """The description in `Annotated`: a string, or that of a Meta; also inside `… | None`."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        for item in metadata:
            text = item if isinstance(item, str) else getattr(item, "description", None)
            if isinstance(text, str) and not isinstance(item, type):
                return text
        return _description_in(inner)
    for argument in get_args(hint):
        if get_origin(argument) is Annotated and (text := _description_in(argument)):
            return text
    return None


def _output(
    function: Callable[..., object], inner: Callable[..., object], hints: dict[str, object]
) -> tuple[bool, object]:
    """Whether the function is async, and the type of its result; None if it returns nothing."""
    hint = hints.get("return", object)
    is_async = inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(function)
    if not is_async and get_origin(hint) in _AWAITABLE:
        is_async, hint = True, get_args(hint)[-1]
    return is_async, None if hint is type(None) else hint


def _result(label: str, output: object) -> tuple[JSON, Callable[[object], JSON]]:
    """The schema of the result, and the function that converts it to JSON."""
    schema, handler = None, None
    if output is not None:
        schema, handler = _schema_of(label, "the return value", output, mode="serialization")
    return schema, result_encoder(label, output, schema, handler)


def _input_schema(parameters: list[Parameter]) -> Object:
    schema: Object = {
        **NO_PARAMETERS,
        "properties": {param.name: param.schema for param in parameters},
    }
    required: list[JSON] = [param.name for param in parameters if param.required]
    if required:
        schema["required"] = required
    return schema


def _body(function: Callable[..., object], context_name: str | None) -> Body:
    if context_name is None:
        return lambda arguments, context: function(**arguments)
    return lambda arguments, context: function(**arguments, **{context_name: context})


def _of_arguments(
    settings: ToolSettings, option: Literal["probe", "key"], parameters: list[Parameter]
) -> Body | None:
    """The function of an option as a function of the tool's arguments: it gets those that it
    names, and a probe also the context."""
    function = settings.probe if option == "probe" else settings.key
    if function is None or isinstance(function, tuple):
        return None
    label = str(settings.id)
    hints = _hints(label, _inner(function))
    names = inspect.signature(function).parameters
    context_names = [name for name in names if option == "probe" and hints.get(name) is ToolContext]
    known = {param.name for param in parameters}
    unknown = [name for name in names if name not in known and name not in context_names]
    if unknown:
        raise ToolDefinitionError(
            label,
            f"the {option} takes {', '.join(unknown)}, which the tool does not: it gets the tool's"
            " own arguments",
        )
    defaults = {param.name: param.default for param in parameters if not param.required}

    def run(arguments: Mapping[str, object], context: ToolContext) -> object:
        values = {**defaults, **arguments}
        chosen = {name: values[name] for name in names if name in values}
        return function(**chosen, **dict.fromkeys(context_names, context))

    return run


def _business_key(
    settings: ToolSettings, parameters: list[Parameter]
) -> Callable[[Mapping[str, object]], JSON] | None:
    label, key = str(settings.id), settings.key
    if isinstance(key, tuple):
        defaults = {param.name: param.default for param in parameters if param.default is not UNSET}
        return key_of_arguments(label, key, {param.name for param in parameters}, defaults)
    function = _of_arguments(settings, "key", parameters)
    if function is None:
        return None
    no_context = ToolContext("", label)
    return lambda arguments: to_json(function(arguments, no_context))
