"""A few tools, as JSON Schema and as functions, and a question that needs two turns of calls, the
first with two calls of one tool.

Knows no wire.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON, Object

QUESTION = "add 2 and 3, and add 4 and 5, then multiply the results"
FINAL = (
    "Calculator_Add(a=2, b=3) gave: 5",
    "Calculator_Add(a=4, b=5) gave: 9",
    "Calculator_Multiply(a=5, b=9) gave: 45",
)


def numbers(*names: str) -> Object:
    """The schema of an object of numbers."""
    return {
        "type": "object",
        "properties": {name: {"type": "number"} for name in names},
        "required": [*names],
    }


CITY: Object = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city"],
}
TOOLS: dict[str, tuple[str, Object]] = {
    "Calculator_Add": ("Adds two numbers", numbers("a", "b")),
    "Calculator_Multiply": ("Multiplies two numbers", numbers("a", "b")),
    "get_weather": ("Current weather of a city", CITY),
}


def run(name: str, given: object) -> str:
    """The result of a tool, as text."""
    assert isinstance(given, dict)
    if name == "get_weather":
        return f"{len(given['city'])} degrees in {given['city']}"
    a, b = int(given["a"]), int(given["b"])
    return str(a + b if name == "Calculator_Add" else a * b)


def functions() -> list[JSON]:
    """The tools in the format of the chat wire."""
    return [
        {"type": "function", "function": {"name": name, "description": about, "parameters": schema}}
        for name, (about, schema) in TOOLS.items()
    ]
