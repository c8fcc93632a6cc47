"""A typed Python function as a tool: `@tool`.

The signature is the schema, the docstring the description, and the function stays the function.
What cannot be offered is refused when it is decorated, not when it is called. Runs nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from importlib import import_module
from typing import (
    Annotated,
    Generic,
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
from toolwire.tools.argument_codec import Parameter, giver, taker
from toolwire.tools.docstrings import read as read_doc
from toolwire.tools.errors import ToolDefinitionError
from toolwire.tools.options import (
    Behaviour,
    Options,
    ToolDescription,
    named,
    said,
    undescribed,
    words,
)
from toolwire.tools.pydantic_types import Adapter, adapter
from toolwire.tools.runnable import Body, Runnable, ToolContext
from toolwire.tools.schema import NOTHING, CircularSchema, UnsupportedType, inlined, of_type, tidy
from toolwire.tools.validate import plain, settle

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_NO_ARGUMENTS = {
    inspect.Parameter.VAR_POSITIONAL: (
        "*{} takes arguments without names; give each its own parameter, or take a list"
    ),
    inspect.Parameter.VAR_KEYWORD: (
        "**{} takes arguments that no schema names; give each its own parameter, or take a dict"
    ),
    inspect.Parameter.POSITIONAL_ONLY: (
        "{} is positional only, and arguments come by name: take the / out of the signature"
    ),
}
_AWAITABLE = (Awaitable, Coroutine)
_OWN = {str(JSON): object, str(Object): dict[str, object]}
"""This package's own names for JSON values, which contain themselves: any value will do."""


class Function(Generic[P, R_co]):
    """A function that is a tool. Called, it is the function itself; `runnable` is the tool."""

    __name__: str

    def __init__(self, function: Callable[P, R_co], runnable: Runnable) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.runnable = runnable

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.runnable.id}>"


class FromSchema(Protocol):
    """A tool of a schema that somebody wrote; see `toolwire.tools.from_schema.from_schema`."""

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
    """`@tool` and `@tool(...)`: a typed function, sync or async, as a tool. `tool.from_schema`: a
    JSON Schema and a callable."""

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
            return _made(function, options)
        return lambda found: _made(found, options)

    @property
    def from_schema(self) -> FromSchema:
        """`from_schema(id, description, input_schema, fn, output_schema=…, …)`. Raises
        ToolDefinitionError.
        """
        try:
            made: FromSchema = import_module("toolwire.tools.from_schema").from_schema
        except ImportError as error:
            raise ToolDefinitionError(
                "from_schema", f"needs {error.name}: install toolwire[tools]"
            ) from None
        return made


tool = _Tool()


def _made(function: Callable[P, R], options: Options) -> Function[P, R]:
    if isinstance(function, Function):
        function = function.function
    return Function(function, runnable(function, options, stacklevel=4))


def runnable(function: Callable[..., object], options: Options, *, stacklevel: int = 2) -> Runnable:
    """The tool that a function is. Raises ToolDefinitionError."""
    inner = _inner(function)
    own = said(
        named(_name(function, inner), getattr(inner, "__module__", None) or "tools", options),
        options,
    )
    label = str(own.id)
    if isinstance(function, type) or not callable(function):
        raise ToolDefinitionError(label, "a tool is a function")
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise ToolDefinitionError(label, "a tool gives one value: return it, do not yield")
    hints = _hints(label, inner)
    doc = read_doc(function.__doc__ if inspect.isroutine(function) else inner.__doc__)
    context, parameters = _parameters(label, function, hints, doc.parameters)
    is_async, output = _output(function, inner, hints)
    if own.on_crash == "transactional" and (context is None or not is_async):
        raise ToolDefinitionError(
            label,
            'on_crash="transactional" writes by context.transaction: make it async, with a Context'
            " parameter",
        )
    described = options.get("description") or doc.description
    undescribed(
        own,
        [one.name for one in parameters if not one.schema.get("description")],
        bool(described),
        stacklevel=stacklevel + 1,
    )
    output_schema, handler = (
        (None, None)
        if output is None
        else _typed(label, "what it returns", output, "serialization")
    )
    schema = _schema(parameters)
    return Runnable(
        id=own.id,
        description=described or words(own.id.name),
        input_schema=schema,
        output_schema=output_schema,
        body=_body(function, context),
        takes=taker(schema, parameters),
        gives=giver(label, output, output_schema, handler),
        is_async=is_async,
        needs=own.needs,
        timeout=own.timeout,
        concurrency=own.concurrency,
        on_crash=own.on_crash,
        probe=_probe(own, parameters),
        read_only=own.read_only,
        idempotent=own.idempotent,
        deprecated=own.deprecated,
    )


def _name(function: Callable[..., object], inner: Callable[..., object]) -> str:
    if inner is type(function).__call__:
        return type(function).__name__
    return str(getattr(function, "__name__", None) or getattr(inner, "__name__", "tool"))


def _inner(function: Callable[..., object]) -> Callable[..., object]:
    """The function that holds the code and the annotations."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _hints(label: str, inner: Callable[..., object]) -> dict[str, object]:
    spoken = getattr(inner, "__globals__", {})
    names = {
        name: _OWN[value]
        for name, value in spoken.items()
        if isinstance(value, str) and value in _OWN
    }
    try:
        return get_type_hints(inner, localns=names, include_extras=True)
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
    """The name of the parameter for the context, if there is one, and all others."""
    context: str | None = None
    found: list[Parameter] = []
    for name, one in inspect.signature(function).parameters.items():
        if one.kind in _NO_ARGUMENTS:
            raise ToolDefinitionError(label, _NO_ARGUMENTS[one.kind].format(name))
        if name not in hints:
            raise ToolDefinitionError(
                label, f"the parameter {name} has no type: annotate it (`object` takes any value)"
            )
        hint = hints[name]
        if hint is ToolContext or ToolContext in get_args(hint):
            if context is not None:
                raise ToolDefinitionError(
                    label, f"{context} and {name} are both a Context: one is enough"
                )
            context = name
        elif name.startswith("_"):
            raise ToolDefinitionError(
                label, f"the parameter {name}: names that begin with _ are reserved for protocols"
            )
        else:
            found.append(_parameter(label, name, hint, one.default, docs.get(name)))
    return context, found


def _parameter(
    label: str, name: str, hint: object, default: object, documented: str | None
) -> Parameter:
    place = f"the parameter {name}"
    schema, handler = _typed(label, place, hint, "validation")
    own: Object = dict(schema) if isinstance(schema, dict) else {}
    text = _described(hint) or documented or own.get("description")
    if isinstance(text, str) and text:
        own["description"] = text
    required = default is inspect.Parameter.empty
    if not required and default is not UNSET:
        own["default"] = _default(label, place, own, default)
    return Parameter(name, hint, own, required, handler, default)


def _default(label: str, place: str, schema: Object, default: object) -> JSON:
    try:
        value = plain(default)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            label, f"{place}: JSON cannot say its default ({error}); use None and make it inside"
        ) from None
    told: list[tuple[tuple[str | int, ...], str]] = []
    settle(schema, value, (), told)
    if told:
        raise ToolDefinitionError(
            label,
            f"{place}: its default does not fit its type ({told[0][1]}); widen the type, as in `int"
            " | None`",
        )
    return value


def _typed(label: str, place: str, hint: object, mode: str) -> tuple[JSON, Adapter | None]:
    """The schema of a type, and what handles it if msgspec does not."""
    try:
        handler = adapter(hint)
        return (
            of_type(hint)
            if handler is None
            else tidy(inlined(handler.json_schema(mode=mode), titles=False))
        ), handler
    except (CircularSchema, RecursionError):
        raise ToolDefinitionError(
            label,
            f"{place}: a type that contains itself cannot be written without references; use a"
            " list, or `object`",
        ) from None
    except UnsupportedType as error:
        raise ToolDefinitionError(label, f"{place}: {error}") from None


def _described(hint: object) -> str | None:
    """What `Annotated` says of a parameter: a plain text, or the description of a Meta; also inside
    `… | None`."""
    if get_origin(hint) is Annotated:
        for one in get_args(hint)[1:]:
            text = (
                one
                if isinstance(one, str)
                else None
                if isinstance(one, type)
                else getattr(one, "description", None)
            )
            if isinstance(text, str):
                return text
        return _described(get_args(hint)[0])
    return next(
        (
            text
            for one in get_args(hint)
            if get_origin(one) is Annotated and (text := _described(one))
        ),
        None,
    )


def _output(
    function: Callable[..., object], inner: Callable[..., object], hints: dict[str, object]
) -> tuple[bool, object]:
    """Whether it is to be awaited, and the type of what it gives; None is nothing."""
    hint = hints.get("return", object)
    is_async = inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(function)
    if not is_async and get_origin(hint) in _AWAITABLE:
        is_async, hint = True, get_args(hint)[-1]
    return is_async, None if hint is type(None) else hint


def _schema(parameters: list[Parameter]) -> Object:
    out: Object = {**NOTHING, "properties": {one.name: one.schema for one in parameters}}
    required: list[JSON] = [one.name for one in parameters if one.required]
    if required:
        out["required"] = required
    return out


def _body(function: Callable[..., object], context: str | None) -> Body:
    if context is None:
        return lambda arguments, given: function(**arguments)
    return lambda arguments, given: function(**arguments, **{context: given})


def _probe(own: ToolDescription, parameters: list[Parameter]) -> Body | None:
    """The probe, called with those of the tool's arguments that it names."""
    probe = own.probe
    if probe is None:
        return None
    label = str(own.id)
    inner = _inner(probe)
    hints = _hints(label, inner)
    wants = inspect.signature(probe).parameters
    contexts = [name for name in wants if hints.get(name) is ToolContext]
    known = {one.name for one in parameters}
    unknown = [name for name in wants if name not in known and name not in contexts]
    if unknown:
        raise ToolDefinitionError(
            label,
            f"the probe takes {', '.join(unknown)}, which the tool does not: it gets the tool's own"
            " arguments",
        )
    defaults = {one.name: one.default for one in parameters if not one.required}

    def ask(arguments: object, context: ToolContext) -> object:
        given = {**defaults, **arguments} if isinstance(arguments, dict) else defaults
        chosen = {name: given[name] for name in wants if name in given}
        return probe(**chosen, **dict.fromkeys(contexts, context))

    return ask
