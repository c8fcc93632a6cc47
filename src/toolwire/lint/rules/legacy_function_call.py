"""A call uses the deprecated field `function_call`, or a result the role `function`.

Neither the call nor its result has an id: a result belongs to the latest call of its function. Some
servers still accept this; others no longer know the role ("unknown variant `function`, expected one
of `system`, `user`, `assistant`, `tool`"), or ignore the call.

A server that accepts the format still refuses broken pairs, such as a call without its result, or
several calls before their results. Only ids can repair that.

The fix writes the call and its result in the current format. Their id is derived from the position
of the call, so it is the same in every process. `functions` and `function_call` of the request
become `tools` and `tool_choice`. A result whose call cannot be determined becomes user text marked
`[toolwire]`.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwire.conversation.json import JSON, JsonPath, Object, get, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import Call, Result
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.fixes.transforms import results_as_text
from toolwire.lint.ids.missing import ids_to_adopt
from toolwire.lint.memo import once_per_history
from toolwire.lint.rule import FixedBody, FixedConversation, Problem, Rule

_LEGACY = "function-legacy"


@once_per_history
def _stays_legacy(facts: Facts) -> bool:
    """True if the target accepts the format, both halves of each pair have it or none of them, and
    each call is followed by its one result."""
    if facts.conversation.kind != "request":
        return True
    if not facts.profile.accepts_function_call:
        return False
    if any(
        (call.family == _LEGACY) != (result.family == _LEGACY)
        for call, result in facts.result_of.items()
    ):
        return False
    return not any(
        call.family == _LEGACY
        and (len(batch.calls) > 1 or (len(batch.results) != 1 and call not in pending))
        for pending in (PartSet(facts.pending_calls),)
        for batch in facts.batches
        for call in batch.calls
    )


def _legacy_calls(facts: Facts) -> list[Call]:
    calls = [call for call in facts.calls if call.family == _LEGACY]
    return [] if not calls or _stays_legacy(facts) else calls


def _legacy_results(facts: Facts) -> list[Result]:
    results = [result for result in facts.results if result.family == _LEGACY]
    return [] if not results or _stays_legacy(facts) else results


def _check(facts: Facts) -> Iterable[Problem]:
    for call in _legacy_calls(facts):
        why = f"which {facts.profile.name} does not accept"
        if facts.profile.accepts_function_call:
            why = "and a call of the history is not followed by its one result"
        message = f"the call to {call.name} is a deprecated `function_call` without an id, {why}"
        yield call.path, message, "safe"
    for result in _legacy_results(facts):
        owner = facts.call_of.get(result)
        if owner is not None and owner.family != _LEGACY:
            message = (
                f"the result of {owner.name} has the deprecated role `function`, and its call has"
                f" the id {owner.id}"
            )
            yield result.path, message, "safe"
        elif owner is None:
            message = (
                f"the result of {result.name} has the deprecated role `function`, and there is no"
                " call that it belongs to"
            )
            yield result.path, message, "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    calls = _legacy_calls(facts)
    if not calls and not any(result in facts.call_of for result in _legacy_results(facts)):
        return _results_without_call_as_text(facts)
    body: JSON = facts.body
    changes: list[tuple[JsonPath, str]] = []
    adopted = ids_to_adopt(facts)
    for call in calls:
        call_id = adopted.get(call, call.id)
        list_path = (*call.path[:-1], "tool_calls")
        function, tool_calls = get(body, call.path), get(body, list_path)
        converted: Object = {
            "id": call_id,
            "type": "function",
            "function": function if isinstance(function, dict) else {},
        }
        earlier = tool_calls if isinstance(tool_calls, list) else []
        body = put(body, list_path, [*earlier, converted])
        changes.append((call.path, f"gave the call to {call.name} the id {call_id}"))
    for result in _legacy_results(facts):
        owner = facts.call_of.get(result)
        message = get(body, result.path)
        if owner is not None and isinstance(message, dict):
            rest = {key: value for key, value in message.items() if key not in ("role", "name")}
            body = put(body, result.path, {"role": "tool", "tool_call_id": owner.id, **rest})
            changes.append((result.path, f"gave the result of {owner.name} the id {owner.id}"))
    body, setting_changes = _convert_settings(remove_paths(body, [call.path for call in calls]))
    return FixedBody(body, (*changes, *setting_changes))


def _results_without_call_as_text(facts: Facts) -> FixedConversation | None:
    results = [result for result in _legacy_results(facts) if result not in facts.call_of]
    changes = tuple(
        (result.path, f"rewrote the result of {result.name} as text: its call is not known")
        for result in results
    )
    return FixedConversation(results_as_text(facts, results), changes) if results else None


def _convert_settings(body: JSON) -> tuple[JSON, list[tuple[JsonPath, str]]]:
    """Turn `functions` and `function_call` of a request into `tools` and `tool_choice`."""
    changes: list[tuple[JsonPath, str]] = []
    functions, choice = get(body, ("functions",)), get(body, ("function_call",))
    if isinstance(functions, list):
        tools = get(body, ("tools",))
        definitions: list[JSON] = [
            {"type": "function", "function": function} for function in functions
        ]
        earlier = tools if isinstance(tools, list) else []
        body = put(remove_paths(body, [("functions",)]), ("tools",), [*earlier, *definitions])
        changes.append((("functions",), "converted `functions` to `tools`"))
    if isinstance(choice, (str, dict)):
        tool_choice: JSON = choice
        if isinstance(choice, dict):
            tool_choice = {"type": "function", "function": choice}
        body = put(remove_paths(body, [("function_call",)]), ("tool_choice",), tool_choice)
        changes.append((("function_call",), "converted `function_call` to `tool_choice`"))
    return body, changes


_CALL: Object = {
    "role": "assistant",
    "content": None,
    "function_call": {"name": "f", "arguments": "{}"},
}
_OTHER_CALL: JSON = {**_CALL, "function_call": {"name": "g", "arguments": "{}"}}
_RESULT: Object = {"role": "function", "name": "f", "content": "1"}
RULE = Rule(
    "TW064",
    "legacy-function-call",
    title="a call uses the deprecated `function_call`, which has no id",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=10,
    scope="body",
    ruled_out_on_own_wire_by=(Observation.WIRE_IDS,),
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
        chat_example(USER, _CALL, _OTHER_CALL, _RESULT, {**_RESULT, "name": "g"}, USER),
        chat_example(USER, _CALL, USER),
        chat_example(USER, assistant(tool_call("c1")), _RESULT, USER),
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
