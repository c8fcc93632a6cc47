"""One history of some turns as a body of several wires, and what the tests of the rules about ids
ask of it."""

from __future__ import annotations

from toolwire.codec import decode
from toolwire.conversation.json import JSON, get
from toolwire.lint import Repaired, check, repair
from toolwire.lint.examples.chat import USER, assistant, tool_call, tool_message

MINE = {f"TW{number:03d}" for number in range(1, 20)}
WIRES = ("openai-chat", "anthropic", "bedrock", "openai-responses", "mistral", "gemini")
Asked = tuple[JSON, str, str]
Told = tuple[JSON, str]
Turn = tuple[list[Asked], list[Told]]


# --- the same history on every wire ---------------------------------------------------------------


def _chat(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        body += [
            USER,
            assistant(*(tool_call(one, name, f'{{"q": "{q}"}}') for one, name, q in asked)),
        ]
        body += [tool_message(one, text) for one, text in answered]
    return {"messages": body}


def _blocks(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        uses: list[JSON] = [
            {"type": "tool_use", "id": one, "name": name, "input": {"q": q}}
            for one, name, q in asked
        ]
        body += (
            [USER, {"role": "assistant", "content": uses}]
            if not body
            else [{"role": "assistant", "content": uses}]
        )
        done: list[JSON] = [
            {"type": "tool_result", "tool_use_id": one, "content": text} for one, text in answered
        ]
        body += [{"role": "user", "content": done}] if done else []
    return {"max_tokens": 9, "messages": body}


def _bedrock(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "content": [{"text": "hi"}]}]
    for asked, answered in turns:
        uses: list[JSON] = [
            {"toolUse": {"toolUseId": one, "name": name, "input": {"q": q}}}
            for one, name, q in asked
        ]
        body.append({"role": "assistant", "content": uses})
        done: list[JSON] = [
            {"toolResult": {"toolUseId": one, "content": [{"text": text}]}}
            for one, text in answered
        ]
        body += [{"role": "user", "content": done}] if done else []
    names = dict.fromkeys(name for asked, _ in turns for _, name, _ in asked)
    tools: list[JSON] = [
        {"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in names
    ]
    return {"messages": body, "toolConfig": {"tools": tools}}


def _items(turns: list[Turn]) -> JSON:
    body: list[JSON] = []
    for asked, answered in turns:
        body.append(USER)
        body += [
            {"type": "function_call", "call_id": one, "name": name, "arguments": f'{{"q": "{q}"}}'}
            for one, name, q in asked
        ]
        body += [
            {"type": "function_call_output", "call_id": one, "output": text}
            for one, text in answered
        ]
    return {"input": body}


def _contents(turns: list[Turn]) -> JSON:
    body: list[JSON] = [{"role": "user", "parts": [{"text": "hi"}]}]
    for asked, answered in turns:
        body.append(
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": i, "name": n, "args": {"q": q}}} for i, n, q in asked
                ],
            }
        )
        names = {str(one): name for one, name, _ in asked}
        done: list[JSON] = [
            {
                "functionResponse": {
                    "id": one,
                    "name": names.get(str(one), "f"),
                    "response": {"output": text},
                }
            }
            for one, text in answered
        ]
        body += [{"role": "user", "parts": done}] if done else []
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


def names(body: JSON, wire: str, target: str | None = None) -> list[str]:
    """The findings of these rules, by name."""
    return [one.name for one in check(body, wire, target=target) if one.code in MINE]


def joined(body: JSON, wire: str) -> list[tuple[str, str]]:
    """What was asked, and what came of it."""
    pairs = decode(body, wire).pairs()
    return [
        (str(get(p.call.input, ("q",))), p.result.text)
        for p in pairs
        if p.call is not None and p.result is not None
    ]


def ids(body: JSON, wire: str) -> list[str]:
    """The ids of the calls."""
    return [one.id for one in decode(body, wire).calls()]


def mended(body: JSON, wire: str, target: str | None = None, *, unsafe: bool = False) -> Repaired:
    """A body after repair, of which nothing is left to mend, and which a second repair leaves as it
    is."""
    first = repair(body, wire, unsafe=unsafe, target=target)
    again = repair(first.body, wire, unsafe=unsafe, target=target)
    assert again.changes == []
    assert again.body == first.body
    return first
