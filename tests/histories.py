"""Valid histories, drawn by hypothesis: as a story first, then as a body of any of the wires that
the laws of repair try.

Every call has a number of its own in its arguments, and its result says the same number: so whoever
joins a call with the result of another is caught, whatever became of the ids.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st
from msgspec import Struct

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
"""Ids as their makers make them: from some letters, the number of the call, its tool and its place
in the turn."""


class Asked(Struct, frozen=True):
    """A call, and what came of it."""

    number: int
    name: str
    id: str
    error: bool = False

    @property
    def told(self) -> str:
        """What its result says."""
        return f"r{self.number}"


class Round(Struct, frozen=True):
    """What an assistant says and calls in one go, and the order in which the results came."""

    text: str
    thought: str
    calls: tuple[Asked, ...]
    order: tuple[int, ...]


class Story(Struct, frozen=True):
    """Turns, each a user's words and the rounds that follow; the last may be open: nobody has
    spoken after the results."""

    turns: tuple[tuple[Round, ...], ...]
    open: bool
    ids: bool
    """Whether calls have ids, where that is free."""

    @property
    def telling(self) -> bool:
        """Whether an id tells its call from all others: ids that start anew in each turn do so only
        until something is lost."""
        return self.ids and len({one.id for one in self.calls}) == len(self.calls)

    @property
    def calls(self) -> list[Asked]:
        """All calls."""
        return [one for turn in self.turns for rnd in turn for one in rnd.calls]


@st.composite
def stories(draw: st.DrawFn, wire: str, target: str | None = None) -> Story:
    """A story whose ids the target takes."""
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
            calls: list[Asked] = []
            for k in range(draw(st.integers(1, 3))):
                name = draw(st.sampled_from(("search", "read", "search")))
                calls.append(
                    Asked(number, name, maker(salt, number, name, k), draw(st.integers(0, 5)) == 0)
                )
                number += 1
            order = draw(st.permutations(range(len(calls)))) if ids else range(len(calls))
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
    return Story(tuple(turns), last and (draw(st.booleans()) or row.no_user_after_tool), ids)


# --- as bodies ------------------------------------------------------------------------------------


def _schema() -> JSON:
    return {"type": "object", "properties": {"x": {"type": "integer"}}}


def _said(story: Story, wire: str) -> list[tuple[str, Round | str]]:
    """The messages in order: what the user says, the rounds, what the assistant says in the end."""
    out: list[tuple[str, Round | str]] = []
    for n, turn in enumerate(story.turns):
        out.append(("user", f"question {n}"))
        out += [("round", rnd) for rnd in turn]
        if n < len(story.turns) - 1 or not story.open:
            out.append(("assistant", f"answer {n}"))
    if not story.open:
        out.append(("user", "thanks"))
    return out


def _chat(story: Story, rests: bool = False) -> Object:
    messages: list[JSON] = []
    for kind, said in _said(story, "openai-chat"):
        if isinstance(said, str):
            messages.append({"role": kind, "content": said})
            continue
        calls: list[JSON] = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.name, "arguments": f'{{"x": {one.number}}}'},
            }
            for one in said.calls
        ]
        messages.append({"role": "assistant", "content": said.text, "tool_calls": calls})
        for k in said.order:
            messages.append(
                {"role": "tool", "tool_call_id": said.calls[k].id, "content": said.calls[k].told}
            )
    tools: list[JSON] = [
        {
            "type": "function",
            "function": {"name": name, "description": name, "parameters": _schema()},
        }
        for name in ("search", "read")
    ]
    return {"model": "m", "messages": messages, "tools": tools}


def _mistral(story: Story) -> Object:
    body = _chat(story)
    for message in body["messages"]:  # type: ignore[union-attr]
        if isinstance(message, dict) and message["role"] == "tool":
            message["name"] = next(
                one.name for one in story.calls if one.id == message["tool_call_id"]
            )
    return body


def _responses(story: Story) -> Object:
    items: list[JSON] = []
    for kind, said in _said(story, "openai-responses"):
        if isinstance(said, str):
            items.append({"role": kind, "content": said})
            continue
        if said.thought:
            items.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{said.calls[0].number:04d}",
                    "summary": [],
                    "encrypted_content": "c2VhbA==",
                }
            )
        if said.text:
            items.append({"role": "assistant", "content": said.text})
        for one in said.calls:
            item: Object = {
                "type": "function_call",
                "call_id": one.id,
                "name": one.name,
                "arguments": f'{{"x": {one.number}}}',
            }
            items.append(
                {**item, "id": f"fc_{one.number:04d}"} if said.thought and not said.text else item
            )
        for k in said.order:
            items.append(
                {
                    "type": "function_call_output",
                    "call_id": said.calls[k].id,
                    "output": said.calls[k].told,
                }
            )
    tools: list[JSON] = [
        {"type": "function", "name": name, "parameters": _schema(), "strict": False}
        for name in ("search", "read")
    ]
    return {"model": "m", "input": items, "tools": tools}


def _anthropic(story: Story) -> Object:
    messages: list[JSON] = []
    for kind, said in _said(story, "anthropic"):
        if isinstance(said, str):
            if kind == "user" and messages and messages[-1]["role"] == "user":  # type: ignore[call-overload,index]
                messages[-1]["content"].append({"type": "text", "text": said})  # type: ignore[call-overload,index,union-attr]
            else:
                messages.append({"role": kind, "content": said})
            continue
        blocks: list[JSON] = []
        if said.thought:
            blocks.append({"type": "thinking", "thinking": said.thought, "signature": "c2VhbA=="})
        if said.text:
            blocks.append({"type": "text", "text": said.text})
        blocks += [
            {"type": "tool_use", "id": one.id, "name": one.name, "input": {"x": one.number}}
            for one in said.calls
        ]
        messages.append({"role": "assistant", "content": blocks})
        told = [said.calls[k] for k in said.order]
        results: list[JSON] = [
            {
                "type": "tool_result",
                "tool_use_id": one.id,
                "content": one.told,
                **({"is_error": True} if one.error else {}),
            }
            for one in told
        ]
        messages.append({"role": "user", "content": results})
    tools: list[JSON] = [
        {"name": name, "description": name, "input_schema": _schema()}
        for name in ("search", "read")
    ]
    return {"model": "m", "max_tokens": 99, "messages": messages, "tools": tools}


def _bedrock(story: Story) -> Object:
    messages: list[JSON] = []
    for kind, said in _said(story, "bedrock"):
        if isinstance(said, str):
            messages.append({"role": kind, "content": [{"text": said}]})
            continue
        blocks: list[JSON] = []
        if said.thought:
            blocks.append(
                {
                    "reasoningContent": {
                        "reasoningText": {"text": said.thought, "signature": "c2VhbA=="}
                    }
                }
            )
        if said.text:
            blocks.append({"text": said.text})
        blocks += [
            {"toolUse": {"toolUseId": one.id, "name": one.name, "input": {"x": one.number}}}
            for one in said.calls
        ]
        messages.append({"role": "assistant", "content": blocks})
        told = [said.calls[k] for k in said.order]
        results: list[JSON] = [
            {
                "toolResult": {
                    "toolUseId": one.id,
                    "content": [{"text": one.told}],
                    **({"status": "error"} if one.error else {}),
                }
            }
            for one in told
        ]
        messages.append({"role": "user", "content": results})
    tools: list[JSON] = [
        {"toolSpec": {"name": name, "inputSchema": {"json": _schema()}}}
        for name in ("search", "read")
    ]
    return {"messages": messages, "toolConfig": {"tools": tools}}


def _gemini(story: Story) -> Object:
    contents: list[JSON] = []
    for kind, said in _said(story, "gemini"):
        if isinstance(said, str):
            contents.append(
                {"role": "model" if kind == "assistant" else "user", "parts": [{"text": said}]}
            )
            continue
        parts: list[JSON] = [{"text": said.text}] if said.text else []
        for n, one in enumerate(said.calls):
            call: Object = {
                **({"id": one.id} if story.ids else {}),
                "name": one.name,
                "args": {"x": one.number},
            }
            parts.append(
                {
                    "functionCall": call,
                    **({"thoughtSignature": "c2VhbA=="} if said.thought and n == 0 else {}),
                }
            )
        contents.append({"role": "model", "parts": parts})
        told = [said.calls[k] for k in said.order]
        contents.append(
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            **({"id": one.id} if story.ids else {}),
                            "name": one.name,
                            "response": {"error" if one.error else "output": one.told},
                        }
                    }
                    for one in told
                ],
            }
        )
    offers: list[JSON] = [
        {"name": name, "description": name, "parametersJsonSchema": _schema()}
        for name in ("search", "read")
    ]
    return {"contents": contents, "tools": [{"functionDeclarations": offers}]}


BODIES: dict[str, Callable[[Story], Object]] = {
    "openai-chat": _chat,
    "mistral": _mistral,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
}


def body_of(story: Story, wire: str) -> JSON:
    """A story as a body of a wire."""
    return BODIES[wire](story)
