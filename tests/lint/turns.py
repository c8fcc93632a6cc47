"""One history of some turns as a body of several wires, and what tests of the
rules about ids check."""

from __future__ import annotations

from toolwire.codec import decode
from toolwire.conversation.json import JSON, get
from toolwire.lint import Repaired, check, repair
from toolwire.lint.examples.chat import USER, assistant, tool_call, tool_message

ID_RULES = {f"TW{number:03d}" for number in range(1, 20)}
WIRES = ("openai-chat", "anthropic", "bedrock", "openai-responses", "mistral", "gemini")
TurnCall = tuple[JSON, str, str]
TurnResult = tuple[JSON, str]
Turn = tuple[list[TurnCall], list[TurnResult]]


# --- the same history on every wire ---------------------------------------------------------------


def _chat(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for calls, results in turns:
        body += [
            USER,
            assistant(*(tool_call(call_id, name, f'{{"q": "{q}"}}') for call_id, name, q in calls)),
        ]
        body += [tool_message(call_id, text) for call_id, text in results]
    return {"messages": body}


def _blocks(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for calls, results in turns:
        uses: list[JSON] = [
            {"type": "tool_use", "id": call_id, "name": name, "input": {"q": q}}
            for call_id, name, q in calls
        ]
        body += (
            [USER, {"role": "assistant", "content": uses}]
            if not body
            else [{"role": "assistant", "content": uses}]
        )
        outputs: list[JSON] = [
            {"type": "tool_result", "tool_use_id": call_id, "content": text}
            for call_id, text in results
        ]
        body += [{"role": "user", "content": outputs}] if outputs else []
    return {"max_tokens": 9, "messages": body}


def _bedrock(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "content": [{"text": "hi"}]}]
    for calls, results in turns:
        uses: list[JSON] = [
            {"toolUse": {"toolUseId": call_id, "name": name, "input": {"q": q}}}
            for call_id, name, q in calls
        ]
        body.append({"role": "assistant", "content": uses})
        outputs: list[JSON] = [
            {"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}}
            for call_id, text in results
        ]
        body += [{"role": "user", "content": outputs}] if outputs else []
    names = dict.fromkeys(name for found_calls, _ in turns for _, name, _ in found_calls)
    tools: list[JSON] = [
        {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in names
    ]
    return {"messages": body, "toolConfig": {"tools": tools}}


def _items(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for calls, results in turns:
        body.append(USER)
        body += [
            {
                "type": "function_call",
                "call_id": call_id,
                "name": name,
                "arguments": f'{{"q": "{q}"}}',
            }
            for call_id, name, q in calls
        ]
        body += [
            {"type": "function_call_output", "call_id": call_id, "output": text}
            for call_id, text in results
        ]
    return {"input": body}


def _contents(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for calls, results in turns:
        body.append(
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": i, "name": n, "args": {"q": q}}} for i, n, q in calls
                ],
            }
        )
        names = {str(call_id): name for call_id, name, _ in calls}
        outputs: list[JSON] = [
            {
                "functionResponse": {
                    "id": call_id,
                    "name": names.get(str(call_id), "f"),
                    "response": {"output": text},
                }
            }
            for call_id, text in results
        ]
        body += [{"role": "user", "parts": outputs}] if outputs else []
    return {"contents": body}


SHAPES = {
    "openai-chat": _chat,
    "mistral": _chat,
    "anthropic": _blocks,
    "bedrock": _bedrock,
    "openai-responses": _items,
    "gemini": _contents,
}


def history(wire: str, *turns: Turn) -> JSON:
    """Turns of calls (id, tool, question) and results (id, text) as a body of a wire."""
    return SHAPES[wire](list(turns))


def rule_names(body: JSON, wire: str, target: str | None = None) -> list[str]:
    """The findings of these rules, by name."""
    return [
        finding.name for finding in check(body, wire, target=target) if finding.code in ID_RULES
    ]


def questions_and_answers(body: JSON, wire: str) -> list[tuple[str, str]]:
    """The question of each call, and the text of its result."""
    pairs = decode(body, wire).pairs()
    return [
        (str(get(p.call.input, ("q",))), p.result.text)
        for p in pairs
        if p.call is not None and p.result is not None
    ]


def call_ids(body: JSON, wire: str) -> list[str]:
    """The ids of the calls."""
    return [call.id for call in decode(body, wire).calls()]


def repair_fully(
    body: JSON, wire: str, target: str | None = None, *, unsafe: bool = False
) -> Repaired:
    """Repair a body, and assert that a second repair changes nothing."""
    first = repair(body, wire, unsafe=unsafe, target=target)
    repaired = repair(first.body, wire, unsafe=unsafe, target=target)
    assert repaired.changes == []
    assert repaired.body == first.body
    return first
