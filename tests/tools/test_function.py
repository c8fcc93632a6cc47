"""A typed function becomes a tool and stays a function: its name, its docstring and its
description."""

from __future__ import annotations

import asyncio
import functools
import inspect
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import pytest
from msgspec import Meta
from tools.tool_helpers import CONTEXT, make_tool

from toolwire.tools import Authorization, Function, ToolContext, Tools, tool
from toolwire.tools.options import Options


def test_a_decorated_function_is_still_the_function() -> None:
    @tool(id="Kit.Double@1.0.0")
    def double(a: Annotated[int, "A number."]) -> int:
        """Double it."""
        return 2 * a

    assert isinstance(double, Function)
    assert double(4) == 8
    assert double.__name__ == "double"
    assert str(inspect.signature(double)).startswith("(a:")
    assert repr(double) == "<tool Kit.Double@1.0.0>"


def test_async_functions_are_recognized_through_every_wrapper() -> None:
    async def slow(a: int) -> int:
        """Be slow."""
        return a

    def lazy(a: int) -> Awaitable[int]:
        return slow(a)

    def quick(a: int, b: int = 2) -> int:
        return a

    @functools.wraps(slow)
    async def call_slow(a: int) -> int:
        return await slow(a)

    class Object:
        async def __call__(self, a: int) -> int:
            return a

    assert [
        make_tool(one).is_async
        for one in (slow, lazy, quick, call_slow, functools.partial(slow), Object())
    ] == [True, True, False, True, True, True]
    result = make_tool(slow).body({"a": 1}, CONTEXT)
    assert inspect.iscoroutine(result)
    assert asyncio.run(result) == 1
    assert make_tool(functools.partial(slow)).description == "Be slow."
    assert make_tool(lazy).output_schema == {"type": "integer"}
    assert make_tool(functools.partial(quick, b=3)).body({"a": 1}, CONTEXT) == 1


def test_names_follow_from_the_function_and_its_module() -> None:
    def get_unread_emails() -> None:
        """Do it."""

    get_unread_emails.__module__ = "my_company.mail_tools"
    assert str(tool(get_unread_emails).runnable.id) == "MailTools.GetUnreadEmails@0.1.0"
    assert (
        str(tool(get_unread_emails, toolkit="Mail", version="2.0.1").runnable.id)
        == "Mail.GetUnreadEmails@2.0.1"
    )
    assert (
        str(tool(get_unread_emails, toolkit="Mail", name="unread").runnable.id)
        == "Mail.unread@0.1.0"
    )
    assert (
        str(tool(get_unread_emails, id="Mail.Unread", version="2.0.1").runnable.id)
        == "Mail.Unread@2.0.1"
    )
    again = tool(get_unread_emails, toolkit="Mail")
    assert len(Tools(again, tool(again, toolkit="Mail", version="2.0.0"))) == 2


def test_options_of_a_tool_are_kept() -> None:
    def do(context: ToolContext) -> None: ...

    one = make_tool(
        do,
        timeout=5.0,
        on_crash="report",
        read_only=True,
        idempotent=True,
        secrets=["KEY"],
        user_id=True,
        authorization=["github", Authorization("google", ("mail",))],
        concurrency=3,
        deprecated="use Kit.Other",
    )
    assert (one.timeout, one.on_crash, one.read_only, one.idempotent, one.concurrency) == (
        5.0,
        "report",
        True,
        True,
        3,
    )
    assert one.needs.authorization == (Authorization("github"), Authorization("google", ("mail",)))
    assert (one.needs.secrets, one.needs.user_id, one.deprecated) == (
        ("KEY",),
        True,
        "use Kit.Other",
    )


@pytest.mark.parametrize(
    ("options", "on_crash"),
    [
        ({}, "report"),
        ({"idempotent": True}, "retry"),
        ({"read_only": True}, "retry"),
        ({"idempotent": True, "on_crash": "report"}, "report"),
    ],
)
def test_idempotent_and_read_only_tools_retry_after_a_crash_by_default(
    options: Options, on_crash: str
) -> None:
    def do() -> None: ...

    assert make_tool(do, **options).on_crash == on_crash


def test_a_probe_gets_those_of_the_arguments_that_it_names() -> None:
    def do(a: int, b: int = 7) -> None: ...

    def was_done(b: int, context: ToolContext) -> str:
        return f"{context.call_id} {b}"

    one = make_tool(do, on_crash="probe", probe=was_done)
    assert one.probe is not None
    assert one.probe({"a": 1}, CONTEXT) == "call-1 7"
    assert one.probe({"a": 1, "b": 2}, CONTEXT) == "call-1 2"


def google(a: int, b: str = "") -> None:
    """Do something.

    It takes a while.

    Args:
        a (int): The first,
            which goes on.
        b: The second: with a colon.

    Returns:
        Nothing.
    """


def numpy(a: int, b: str = "") -> None:
    """Do something.

    It takes a while.

    Parameters
    ----------
    a : int
        The first,
        which goes on.
    b : str, optional
        The second: with a colon.

    Returns
    -------
    None
        Nothing.
    """


def rest(a: int, b: str = "") -> None:
    """Do something.

    It takes a while.

    :param int a: The first,
        which goes on.
    :param b: The second: with a colon.
    :type b: str
    :returns: Nothing.
    """


@pytest.mark.parametrize("do", [google, numpy, rest], ids=lambda one: one.__name__)
def test_three_styles_of_docstrings_say_the_same(do: Callable[..., object]) -> None:
    one = tool(do, id="Kit.Do@1.0.0", strict=True).runnable
    assert one.description == "Do something.\n\nIt takes a while."
    assert one.input_schema["properties"] == {
        "a": {"type": "integer", "description": "The first, which goes on."},
        "b": {"type": "string", "description": "The second: with a colon.", "default": ""},
    }


def test_notes_and_examples_stay_in_the_description() -> None:
    def one() -> None:
        """Do it.

        Note:
            Be careful.

        Raises:
            ValueError: never.
        """

    def two() -> None:
        """Do it.

        Raises
        ------
        ValueError
            Never.

        Notes
        -----
        Be careful.
        """

    assert make_tool(one).description == "Do it.\n\nNote:\n    Be careful."
    assert make_tool(two).description == "Do it.\n\nNotes\n-----\nBe careful."


def test_a_description_in_annotated_precedes_the_docstring() -> None:
    def do(
        a: Annotated[int, Meta(description="Meta.")], b: Annotated[str, "Plain."] | None = None
    ) -> None:
        """Do.

        Args:
            a: Docstring.
            b: Docstring.
        """

    properties = make_tool(do).input_schema["properties"]
    assert isinstance(properties, dict)
    assert [one["description"] for one in properties.values() if isinstance(one, dict)] == [
        "Meta.",
        "Plain.",
    ]


def test_function_tools_need_neither_pydantic_nor_a_validator_of_schemas() -> None:
    code = (
        "import sys; sys.modules['jsonschema_rs'] = None\nfrom toolwire.tools import tool, "
        " ToolDefinitionError\ndef double(a: int) -> int:\n    'Double.\\n\\n    Args:\\n        a: A"
        " number.'\n    return 2 * a\none = tool(double, toolkit='Kit').runnable\nprint(one.decode_arguments({'a':"
        " 5.0}), 'pydantic' in sys.modules, 'asyncio' in sys.modules)\ntry:"
        " tool.from_schema\nexcept ToolDefinitionError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.splitlines() == [
        "{'a': 5} False False",
        "from_schema: needs jsonschema_rs: install toolwire[tools]",
    ]
