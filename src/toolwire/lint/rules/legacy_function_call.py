"""A call in the old style: `function_call` in the message, and its result under the role
`function`.

Neither has an id: the result is of the last call of that name. Some servers still take it; others
do not know the role any more ("unknown variant `function`, expected one of `system`, `user`,
`assistant`, `tool`"), or leave the call out.

The fix writes both in the new style, with an id that is made from the place of the call: the same
in every process. `functions` and the choice among them become `tools` and `tool_choice`. A result
whose call nobody can tell stays, and is named.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.json_remove import remove_paths
from toolwire.lint.rule import FixedBody, Problem, Rule

_OLD = "function-legacy"


def _calls(facts: Facts) -> list[Call]:
    if facts.profile.accepts_function_call:
        return []
    return [one for one in facts.calls if one.family == _OLD]


def _results(facts: Facts) -> list[Result]:
    if facts.profile.accepts_function_call:
        return []
    return [one for one in facts.results if one.family == _OLD]


def _check(facts: Facts) -> Iterable[Problem]:
    for one in _calls(facts):
        yield (
            one.path,
            (
                f"the call of {one.name} is in the old style, without an id; {facts.profile.name}"
                " does not take it"
            ),
            "safe",
        )
    for result in _results(facts):
        if id(result) not in facts.call_of:
            yield (
                result.path,
                (
                    f"a result of {result.name} in the old style, and nothing says which call it"
                    " answers"
                ),
                None,
            )


def _fix(facts: Facts, unsafe: bool) -> FixedBody | None:
    calls = _calls(facts)
    if not calls:
        return None
    body, tool_message, gone = facts.body, [], []
    for one in calls:
        inside = get(body, one.path)
        new: Object = {
            "id": one.id,
            "type": "function",
            "function": inside if isinstance(inside, dict) else {},
        }
        others = get(body, (*one.path[:-1], "tool_calls"))
        body = put(
            body,
            (*one.path[:-1], "tool_calls"),
            [*(others if isinstance(others, list) else []), new],
        )
        gone.append(one.path)
        tool_message.append((one.path, f"the call of {one.name} goes under the id {one.id}"))
    for result in _results(facts):
        owner = facts.call_of.get(id(result))
        old = get(body, result.path)
        if owner is not None and isinstance(old, dict):
            kept = {key: value for key, value in old.items() if key not in ("role", "name")}
            body = put(body, result.path, {"role": "tool", "tool_call_id": owner.id, **kept})
            tool_message.append(
                (result.path, f"the result of {owner.name} goes under the id {owner.id}")
            )
    body, more = _offers(remove_paths(body, gone))
    return FixedBody(body, (*tool_message, *more))


def _offers(body: JSON) -> tuple[JSON, list[tuple[JsonPath, str]]]:
    """The body with the old list of functions as tools, and the choice among them."""
    tool_message: list[tuple[JsonPath, str]] = []
    functions, choice, tools = (
        get(body, ("functions",)),
        get(body, ("function_call",)),
        get(body, ("tools",)),
    )
    if isinstance(functions, list):
        offers: list[JSON] = [{"type": "function", "function": one} for one in functions]
        body = put(
            remove_paths(body, [("functions",)]),
            ("tools",),
            [*(tools if isinstance(tools, list) else []), *offers],
        )
        tool_message.append((("functions",), "the functions are offered as tools"))
    if isinstance(choice, (str, dict)):
        said: JSON = choice if isinstance(choice, str) else {"type": "function", "function": choice}
        body = put(remove_paths(body, [("function_call",)]), ("tool_choice",), said)
        tool_message.append((("function_call",), "the choice of a function is a choice of a tool"))
    return body, tool_message


_CALL: JSON = {
    "role": "assistant",
    "content": None,
    "function_call": {"name": "f", "arguments": "{}"},
}
_RESULT: JSON = {"role": "function", "name": "f", "content": "1"}
RULE = Rule(
    "TW064",
    "legacy-function-call",
    title="a call in the old style, without an id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    bad=(
        chat_example(USER, _CALL, _RESULT, target="deepseek"),
        chat_example(
            USER,
            _CALL,
            _RESULT,
            USER,
            _CALL,
            _RESULT,
            target="deepseek",
            functions=[{"name": "f"}],
            function_call="auto",
        ),
        chat_example(USER, _RESULT, target="deepseek"),
    ),
    good=(
        chat_example(USER, _CALL, _RESULT),
        chat_example(
            USER,
            assistant(tool_call("c1"), reasoning_content="so"),
            tool_message("c1"),
            target="deepseek",
        ),
    ),
)
