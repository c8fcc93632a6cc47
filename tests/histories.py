"""Valid histories, drawn by hypothesis: first wire-neutral, then as a body of any wire of a model.

Every call has a number of its own in its arguments, and its result contains the same number. So a
result that was paired with another call is noticed, whatever became of the ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from hypothesis import strategies as st
from msgspec import Struct

from toolwire import translate
from toolwire.conversation.json import JSON, Object
from toolwire.profiles.table import profile

_HEX = st.text("0123456789abcdef", min_size=8, max_size=8)
_LETTERS = st.text("ABCDEFGHKMNPQRSTUVWXYZabcdefghkmnpqrstuvwxyz23456789", min_size=8, max_size=8)
MAKERS: dict[str, Callable[[str, int, str, int], str]] = {
    "openai": lambda salt, n, name, k: f"call_{salt}{n:016d}",
    "anthropic": lambda salt, n, name, k: f"toolu_01{salt}{n:014d}",
    "vertex": lambda salt, n, name, k: f"toolu_vrtx_01{salt}{n:014d}",
    "bedrock": lambda salt, n, name, k: f"tooluse_{salt}-{n:013d}",
    "mistral": lambda salt, n, name, k: f"{salt[:6]}{n:03d}",
    "kimi": lambda salt, n, name, k: f"functions.{name}:{n}",
    "restarting": lambda salt, n, name, k: f"call_{k}",
    "deepseek": lambda salt, n, name, k: f"call_{n:02d}_{salt}",
    "minimax": lambda salt, n, name, k: f"call_function_{salt}{n:04d}_{k + 1}",
    "vllm": lambda salt, n, name, k: f"chatcmpl-tool-{salt}{n:024d}",
    "llama.cpp": lambda salt, n, name, k: f"{n + 1:09d}",
}
"""Ids as servers make them: from a salt, the number of the call, its tool and its index in the
turn."""


class DrawnCall(Struct, frozen=True):
    """A call and its result."""

    number: int
    name: str
    id: str
    error: bool = False

    @property
    def output(self) -> str:
        """The text of its result."""
        return f"r{self.number}"


class Round(Struct, frozen=True):
    """The text and calls of one assistant message, and the order of their results."""

    text: str
    reasoning: str
    calls: tuple[DrawnCall, ...]
    order: tuple[int, ...]


class DrawnHistory(Struct, frozen=True):
    """Turns, each a user message and the rounds that follow it. If the history is open, it ends with
    results."""

    turns: tuple[tuple[Round, ...], ...]
    open: bool
    ids: bool
    """True if calls have ids on a wire where ids are optional."""

    @property
    def unique_ids(self) -> bool:
        """True if no two calls share an id, as they do where ids restart in each turn."""
        return self.ids and len({call.id for call in self.calls}) == len(self.calls)

    @property
    def calls(self) -> list[DrawnCall]:
        """All calls."""
        return [call for turn in self.turns for rnd in turn for call in rnd.calls]


@st.composite
def history_strategy(draw: st.DrawFn, wire: str, target: str | None = None) -> DrawnHistory:
    """A history with ids that the target accepts."""
    row = profile(target or wire)
    rule = row.accepted_ids or row.id_rule
    salt = draw(_LETTERS)
    free = wire == "gemini"
    ids = row.has_id_field and not row.id_sometimes_refused and (not free or draw(st.booleans()))
    fit = [
        name
        for name, make in MAKERS.items()
        if rule.fits(make(salt, 0, "search", 0))
        and not (row.ids_unique_in_request and name == "restarting")
        and (wire != "gemini" or name != "kimi")
    ]
    if row.own_id_pattern:
        fit = [name for name in fit if name == "kimi"]
    maker = MAKERS[draw(st.sampled_from(fit))]
    number = 0
    turns: list[tuple[Round, ...]] = []
    for _ in range(draw(st.integers(1, 3))):
        rounds: list[Round] = []
        for _ in range(draw(st.integers(0 if turns else 1, 2))):
            calls: list[DrawnCall] = []
            for k in range(draw(st.integers(1, 3))):
                name = draw(st.sampled_from(("search", "read", "search")))
                calls.append(
                    DrawnCall(
                        number, name, maker(salt, number, name, k), draw(st.integers(0, 5)) == 0
                    )
                )
                number += 1
            free_order = ids and not row.results_follow_call_order
            order = draw(st.permutations(range(len(calls)))) if free_order else range(len(calls))
            rounds.append(
                Round(
                    draw(st.sampled_from(("", "let me see"))),
                    draw(st.sampled_from(("", "hm"))),
                    tuple(calls),
                    tuple(order),
                )
            )
        turns.append(tuple(rounds))
    last = bool(turns[-1])
    return DrawnHistory(tuple(turns), last and (draw(st.booleans()) or row.no_user_after_tool), ids)


# --- as bodies ------------------------------------------------------------------------------------


def _schema() -> JSON:
    return {"type": "object", "properties": {"x": {"type": "integer"}}}


def _messages(history: DrawnHistory) -> list[tuple[str, Round | str]]:
    """The messages in order: the texts of the user and the assistant, and the rounds."""
    out: list[tuple[str, Round | str]] = []
    for n, turn in enumerate(history.turns):
        out.append(("user", f"question {n}"))
        out += [("round", rnd) for rnd in turn]
        if n < len(history.turns) - 1 or not history.open:
            out.append(("assistant", f"answer {n}"))
    if not history.open:
        out.append(("user", "thanks"))
    return out


def _chat(history: DrawnHistory) -> Object:
    messages: list[JSON] = []
    for role, content in _messages(history):
        if isinstance(content, str):
            messages.append({"role": role, "content": content})
            continue
        calls: list[JSON] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": f'{{"x": {call.number}}}'},
            }
            for call in content.calls
        ]
        messages.append({"role": "assistant", "content": content.text, "tool_calls": calls})
        for k in content.order:
            messages.append(
                {
                    "role": "tool",
                    "tool_call_id": content.calls[k].id,
                    "content": content.calls[k].output,
                }
            )
    tools: list[JSON] = [
        {
            "type": "function",
            "function": {"name": name, "description": name, "parameters": _schema()},
        }
        for name in ("search", "read")
    ]
    return {"model": "m", "messages": messages, "tools": tools}


def _mistral(history: DrawnHistory) -> Object:
    body = _chat(history)
    for message in body["messages"]:  # type: ignore[union-attr]
        if isinstance(message, dict) and message["role"] == "tool":
            message["name"] = next(
                call.name for call in history.calls if call.id == message["tool_call_id"]
            )
    return body


def _ollama(history: DrawnHistory) -> Object:
    """Arguments are objects, and a result names its tool."""
    body = _chat(history)
    names: dict[str, str] = {}
    for message in body["messages"]:  # type: ignore[union-attr]
        assert isinstance(message, dict)
        calls = message.get("tool_calls", [])
        assert isinstance(calls, list)
        for call in calls:
            function = call["function"]  # type: ignore[index,call-overload]
            assert isinstance(call, dict) and isinstance(function, dict)
            function["arguments"] = json.loads(str(function["arguments"]))
            names[str(call["id"])] = str(function["name"])
        if message["role"] == "tool":
            message["tool_name"] = names[str(message["tool_call_id"])]
    return body


def _responses(history: DrawnHistory) -> Object:
    items: list[JSON] = []
    for role, content in _messages(history):
        if isinstance(content, str):
            items.append({"role": role, "content": content})
            continue
        if content.reasoning:
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{content.calls[0].number:04d}",
                    "summary": [],
                    "encrypted_content": "c2VhbA==",
                }
            )
        if content.text:
            items.append({"role": "assistant", "content": content.text})
        for call in content.calls:
            item: Object = {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": f'{{"x": {call.number}}}',
            }
            items.append(
                {**item, "id": f"fc_{call.number:04d}"}
                if content.reasoning and not content.text
                else item
            )
        for k in content.order:
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": content.calls[k].id,
                    "output": content.calls[k].output,
                }
            )
    tools: list[JSON] = [
        {"type": "function", "name": name, "parameters": _schema(), "strict": False}
        for name in ("search", "read")
    ]
    return {"model": "m", "input": items, "tools": tools}


def _anthropic(history: DrawnHistory) -> Object:
    messages: list[JSON] = []
    for role, content in _messages(history):
        if isinstance(content, str):
            if role == "user" and messages and messages[-1]["role"] == "user":  # type: ignore[call-overload,index]
                messages[-1]["content"].append({"type": "text", "text": content})  # type: ignore[call-overload,index,union-attr]
            else:
                messages.append({"role": role, "content": content})
            continue
        blocks: list[JSON] = []
        if content.reasoning:
            blocks.append(
                {"type": "thinking", "thinking": content.reasoning, "signature": "c2VhbA=="}
            )
        if content.text:
            blocks.append({"type": "text", "text": content.text})
        blocks += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": {"x": call.number}}
            for call in content.calls
        ]
        messages.append({"role": "assistant", "content": blocks})
        results_in_order = [content.calls[k] for k in content.order]
        results: list[JSON] = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": call.output,
                **({"is_error": True} if call.error else {}),
            }
            for call in results_in_order
        ]
        messages.append({"role": "user", "content": results})
    tools: list[JSON] = [
        {"name": name, "description": name, "input_schema": _schema()}
        for name in ("search", "read")
    ]
    return {"model": "m", "max_tokens": 99, "messages": messages, "tools": tools}


def _bedrock(history: DrawnHistory) -> Object:
    messages: list[JSON] = []
    for role, content in _messages(history):
        if isinstance(content, str):
            messages.append({"role": role, "content": [{"text": content}]})
            continue
        blocks: list[JSON] = []
        if content.reasoning:
            blocks.append(
                {
                    "reasoningContent": {
                        "reasoningText": {"text": content.reasoning, "signature": "c2VhbA=="}
                    }
                }
            )
        if content.text:
            blocks.append({"text": content.text})
        blocks += [
            {"toolUse": {"toolUseId": call.id, "name": call.name, "input": {"x": call.number}}}
            for call in content.calls
        ]
        messages.append({"role": "assistant", "content": blocks})
        results_in_order = [content.calls[k] for k in content.order]
        results: list[JSON] = [
            {
                "toolResult": {
                    "toolUseId": call.id,
                    "content": [{"text": call.output}],
                    **({"status": "error"} if call.error else {}),
                }
            }
            for call in results_in_order
        ]
        messages.append({"role": "user", "content": results})
    tools: list[JSON] = [
        {"toolSpec": {"name": name, "inputSchema": {"json": _schema()}}}
        for name in ("search", "read")
    ]
    return {"messages": messages, "toolConfig": {"tools": tools}}


def _gemini(history: DrawnHistory) -> Object:
    contents: list[JSON] = []
    for role, content in _messages(history):
        if isinstance(content, str):
            contents.append(
                {"role": "model" if role == "assistant" else "user", "parts": [{"text": content}]}
            )
            continue
        parts: list[JSON] = [{"text": content.text}] if content.text else []
        for n, call in enumerate(content.calls):
            function_call: Object = {
                **({"id": call.id} if history.ids else {}),
                "name": call.name,
                "args": {"x": call.number},
            }
            parts.append(
                {
                    "functionCall": function_call,
                    **({"thoughtSignature": "c2VhbA=="} if content.reasoning and n == 0 else {}),
                }
            )
        contents.append({"role": "model", "parts": parts})
        results_in_order = [content.calls[k] for k in content.order]
        contents.append(
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            **({"id": call.id} if history.ids else {}),
                            "name": call.name,
                            "response": {"error" if call.error else "output": call.output},
                        }
                    }
                    for call in results_in_order
                ],
            }
        )
    definitions: list[JSON] = [
        {"name": name, "description": name, "parametersJsonSchema": _schema()}
        for name in ("search", "read")
    ]
    return {"contents": contents, "tools": [{"functionDeclarations": definitions}]}


BODIES: dict[str, Callable[[DrawnHistory], Object]] = {
    "openai-chat": _chat,
    "mistral": _mistral,
    "openai-responses": _responses,
    "azure-foundry": _responses,
    "cohere": _chat,
    "ollama": _ollama,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
}


def body_of(history: DrawnHistory, wire: str) -> JSON:
    """A history as a body of a wire, by translation if no function writes it."""
    if wire in BODIES:
        return BODIES[wire](history)
    return translate(_chat(history), "openai-chat", wire).body
