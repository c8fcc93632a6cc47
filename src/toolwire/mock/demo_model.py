"""The offline model: reads the tools and the question, makes the calls, and quotes every result
together with its call.

It is a function of the conversation: the same conversation gets the same response, ids included, in
every process. `DIRECTIVES` lists the instructions that a question can contain.
"""

from __future__ import annotations

from functools import partial
from operator import is_

from msgspec import Struct
from msgspec.structs import replace

from toolwire.codec import decode, encode
from toolwire.conversation.ids import assign_ids, first_free
from toolwire.conversation.json import JSON, Object, parse, text_of
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Choice, Conversation, Tool
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    Call,
    Message,
    Origin,
    Part,
    Reasoning,
    Result,
    Text,
    output_text,
)
from toolwire.mock.demo_ids import call_id, token
from toolwire.mock.demo_questions import QuestionStep, find_calls, steps
from toolwire.mock.demo_script import DIRECTIVES, Directive, QuestionDirective, read_directives
from toolwire.wires.engine.part_lowering import is_marked_text
from toolwire.wires.text.blocks import RESULT, is_plain, spans_of
from toolwire.wires.text.tags import find_tools

__all__ = ["DIRECTIVES", "DemoAnswer", "Directive", "answer", "demo_answer"]

MAX_QUOTED_LENGTH = 4000
"""The length to which a quoted result is cut; the response then states the full length."""
MAX_QUESTION_LENGTH = 10_000
"""The maximum number of characters that are read of a question without directives."""
_HALF = '{"unfinished": "in the mid'


class DemoAnswer(Struct, frozen=True):
    """A response, and how it is delivered."""

    message: Message
    status: int = 200
    """The HTTP status; the request fails unless it is 200."""
    times: int = 0
    """The number of failures before it succeeds; 0 to fail always."""
    pause: float = 0.0
    """Seconds to wait before the response, and before each event of a stream."""
    cut: bool = False
    """True if the response breaks off in the middle."""


def answer(conversation: Conversation, *, id_profile: str = "") -> Message:
    """The next message of the model. `id_profile` is the profile whose id format the calls use; by
    default that of the conversation's wire."""
    return demo_answer(conversation, id_profile=id_profile).message


def demo_answer(conversation: Conversation, *, id_profile: str = "") -> DemoAnswer:
    """The next response of the model, and how it is delivered."""
    turn = _DemoTurn(conversation, id_profile)
    by_word = {directive.word: directive for directive in turn.directives}
    numbers = by_word["error"].numbers if "error" in by_word else []
    parts = turn.parts()
    return DemoAnswer(
        Message(
            "assistant", parts, "tool" if any(isinstance(part, Call) for part in parts) else "stop"
        ),
        int(numbers[0]) if numbers else 200,
        int(numbers[1]) if len(numbers) > 1 else 0,
        next(iter(by_word["slow"].numbers), 0.0) if "slow" in by_word else 0.0,
        "cut" in by_word,
    )


_UNKNOWN_TOOL = "no_such_tool"
"""The name in calls of a tool that is not defined, or not named."""


class _WantedCall(Struct, frozen=True):
    """A call before it has an id."""

    name: str
    given: JSON


class _DemoTurn:
    """The last question of a conversation, the calls since then, and their results."""

    def __init__(self, conversation: Conversation, id_profile: str) -> None:
        self.messages, tagged = _read(conversation.messages)
        self.id_formats = tuple(name for name in (id_profile, conversation.wire) if name)
        self.settings = conversation.settings
        offered = conversation.tools
        self.in_text = False
        if not offered and conversation.wire != "text":
            offered, self.in_text = _tools_in_system(conversation), True
        self.tools = _tools_by_choice(offered, conversation.settings.get("choice"))
        at, self.question = _question(self.messages)
        self.directives = read_directives(self.question)
        words = {directive.word for directive in self.directives}
        self.in_text = (self.in_text or "say-as-text" in words) and conversation.wire != "text"
        self.words = words
        replaced = replace(conversation, messages=self.messages)
        self.all_calls = replaced.calls()
        since = PartSet(part for message in self.messages[at + 1 :] for part in message.parts)
        self.pairs = [
            (pair.call, pair.result)
            for pair in replace(
                conversation,
                messages=self.messages,
                source=replace(conversation.source, ordered=conversation.ordered or tagged),
            ).pairs()
            if pair.call is not None and pair.call.executor == "client" and pair.call in since
        ]
        self.results = [_value(result) for _, result in self.pairs if result is not None]

    # --- choose the parts ---

    def parts(self) -> tuple[Part, ...]:
        """The parts of the response."""
        scripted = any(DIRECTIVES[directive.word].is_content for directive in self.directives)
        parts, wanted = self._follow_script() if scripted else self._read()
        if "never-stop" in self.words and not wanted:
            wanted = self._repeat_call()
        if self.settings.get("parallel") is False:
            wanted = wanted[:1]
        calls = self._make_calls(wanted)
        if not calls and not any(isinstance(part, Text) for part in parts):
            parts = (*parts, Text(self._closing()))
        parts = tuple(self._pad(part) for part in parts)
        return (*parts, *self._as_text(calls)) if self.in_text else (*parts, *calls)

    def _follow_script(self) -> tuple[tuple[Part, ...], list[_WantedCall]]:
        """The next response of the script; `then` separates its responses."""
        answers: list[list[QuestionDirective]] = [[]]
        for directive in self.directives:
            if directive.word == "then":
                answers.append([])
            elif DIRECTIVES[directive.word].is_content:
                answers[-1].append(directive)
        done = len(self.pairs)
        for script in answers:
            calls = [
                directive for directive in script if directive.word in ("call", "unknown-tool")
            ]
            if calls and done >= len(calls):
                done -= len(calls)
                continue
            begun = done > 0
            parts: list[Part] = (
                []
                if begun
                else [part for directive in script if (part := _part(directive)) is not None]
            )
            return tuple(parts), [
                _call_of_directive(directive, self.results) for directive in calls[done:]
            ]
        return (), []

    def _read(self) -> tuple[tuple[Part, ...], list[_WantedCall]]:
        """The calls that a question without directives asks for, step by step."""
        if not self.tools:
            return (), []
        done = len(self.pairs)
        before: list[JSON] = []
        at = 0
        for step in steps(self.question[:MAX_QUESTION_LENGTH]):
            calls = find_calls(step, self.tools, before)
            lacking = next((step for step in calls if step.lacks), None)
            if lacking is not None and not self._must_call():
                words = f"To call {lacking.tool.name} I need: {', '.join(lacking.lacks)}."
                return (Text(words if not self.pairs else f"{self._closing()}\n{words}"),), []
            if calls and done < len(calls):
                return (), [
                    _WantedCall(step.tool.name, _arguments_of(step)) for step in calls[done:]
                ]
            done -= len(calls)
            if calls:
                before = self.results[at : at + len(calls)]
                at += len(calls)
        if self._must_call() and not self.pairs:
            tool = self.tools[0]
            given = find_calls(f"{tool.name} {self.question[:MAX_QUESTION_LENGTH]}", [tool], [])
            return (), [_WantedCall(tool.name, _arguments_of(given[0]) if given else {})]
        return (), []

    def _must_call(self) -> bool:
        choice = self.settings.get("choice")
        return isinstance(choice, Choice) and choice.mode == "required"

    def _repeat_call(self) -> list[_WantedCall]:
        """The last calls again, or a call to the first tool."""
        if self.pairs:
            call = self.pairs[-1][0]
            return [_WantedCall(call.name, call.input)]
        return [_WantedCall(self.tools[0].name if self.tools else _UNKNOWN_TOOL, {})]

    def _closing(self) -> str:
        """A text that quotes every result with its call; without results, that no tool matches."""
        if not self.pairs:
            words = " ".join(self.question.split())[:200]
            return (
                f"You said: {words}"
                if not self.tools
                else f"You said: {words}\nNo tool matches the question."
            )
        return "\n".join(_describe_pair(call, result) for call, result in self.pairs)

    # --- write the parts ---

    def _make_calls(self, wanted: list[_WantedCall]) -> list[Call]:
        seed = token(12, self.question, len(self.messages))
        taken = {call.id for call in self.all_calls}
        count = len(self.all_calls)
        calls: list[Call] = []
        for n, call in enumerate(wanted):
            form = partial(self._id, seed, count + n, call.name)
            made = (
                self._id(self.question, 0, "same", "")
                if "repeat-id" in self.words
                else first_free(form, taken)
            )
            taken.add(made)
            args = LazyJson(_HALF) if "broken-json" in self.words else LazyJson(text_of(call.given))
            origin: Origin = "minted" if made.startswith("tw-") else "wire"
            calls.append(Call(made, call.name or _UNKNOWN_TOOL, args, origin))
        return calls

    def _id(self, seed: str, n: int, name: str, salt: str) -> str:
        """The id of the n-th call; formats that only count skip an id that is in use."""
        return call_id(self.id_formats, f"{seed}{salt}", n + int(salt[1:] or 0), name)

    def _as_text(self, calls: list[Call]) -> tuple[Part, ...]:
        """The calls as text in tags."""
        if not calls:
            return ()
        body = encode(
            Conversation((Message("assistant", tuple(calls), "tool"),), (), {}, "", "response"),
            "text",
            "response",
        ).body
        assert isinstance(body, dict)
        message = decode(body, "text", "response").messages[0].raw
        return (Text(str(message["content"])),) if isinstance(message, dict) else ()

    def _pad(self, part: Part) -> Part:
        size = next(
            (
                int(directive.numbers[0])
                for directive in self.directives
                if directive.word == "size" and directive.numbers
            ),
            0,
        )
        if not size or not isinstance(part, Text):
            return part
        filling = " ".join(f"{n}" for n in range(size // 2 + 1))
        return Text(f"{part.text} {filling}"[: max(size, len(part.text))])


# --- reading the conversation ---------------------------------------------------------------------


def _read(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], bool]:
    """The messages, with tagged calls and results in their text as parts, and True if there were
    any."""
    out: list[Message] = []
    for message in messages:
        parts: list[Part] = []
        for part in message.parts:
            plain = (
                not isinstance(part, Text)
                or message.role == "system"
                or "<" not in part.text
                or is_plain(part.text, message.role)
            )
            parts += (
                [part]
                if plain or not isinstance(part, Text)
                else [span.part for span in spans_of(part.text, (), message.role)]
            )
        out.append(
            message
            if len(parts) == len(message.parts) and all(map(is_, parts, message.parts))
            else replace(message, parts=tuple(parts))
        )
    tagged = any(map(lambda new, old: new is not old, out, messages))
    return (assign_ids(tuple(out), seed="", ordered=True), True) if tagged else (messages, False)


def _tools_in_system(conversation: Conversation) -> tuple[Tool, ...]:
    """The tools that a system prompt defines in tags."""
    texts = [
        part.text
        for message in conversation.messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, Text)
    ]
    for text in texts:
        if find_tools(text) is not None:
            return decode({"messages": [{"role": "system", "content": text}]}, "text").tools
    return ()


def _tools_by_choice(tools: tuple[Tool, ...], choice: object) -> tuple[Tool, ...]:
    if not isinstance(choice, Choice):
        return tools
    if choice.mode == "none":
        return ()
    return tuple(tool for tool in tools if not choice.names or tool.name in choice.names)


def _question(messages: tuple[Message, ...]) -> tuple[int, str]:
    """The last text of a user, and the index of its message. Text around tagged results belongs to
    the results; text that a translation moved there is not the user's."""
    for n in range(len(messages) - 1, -1, -1):
        message = messages[n]
        if message.role != "user":
            continue
        last = max(
            (i for i, part in enumerate(message.parts) if isinstance(part, Result)), default=-1
        )
        if last >= 0 and any(
            isinstance(part, Result) and part.spec is RESULT for part in message.parts
        ):
            continue
        text = "\n".join(
            part.text
            for part in message.parts[last + 1 :]
            if isinstance(part, Text) and not is_marked_text(part)
        ).strip()
        if text:
            return n, text
    return -1, ""


def _value(result: Result) -> JSON:
    """The output of a result: parsed, if it is JSON as text."""
    text = output_text(result.output)
    if not isinstance(result.output, str | tuple):
        output = result.output
        return (
            output.get("output", output)
            if isinstance(output, dict) and len(output) == 1
            else output
        )
    try:
        return parse(text)
    except ValueError:
        return text


# --- helpers --------------------------------------------------------------------------------------


def _part(directive: QuestionDirective) -> Part | None:
    if directive.word == "text":
        return Text(directive.rest)
    return Reasoning(directive.rest) if directive.word == "think" else None


def _call_of_directive(directive: QuestionDirective, results: list[JSON]) -> _WantedCall:
    if directive.word == "unknown-tool":
        return _WantedCall(_UNKNOWN_TOOL, {})
    return _WantedCall(
        directive.rest,
        _insert_results(directive.value if directive.value is not None else {}, results),
    )


def _insert_results(value: JSON, results: list[JSON]) -> JSON:
    """JSON with `$1` and the like replaced by results."""
    if (
        isinstance(value, str)
        and value[:1] == "$"
        and value[1:].isdecimal()
        and 0 < int(value[1:]) <= len(results)
    ):
        return results[int(value[1:]) - 1]
    if isinstance(value, list):
        return [_insert_results(element, results) for element in value]
    return (
        {key: _insert_results(element, results) for key, element in value.items()}
        if isinstance(value, dict)
        else value
    )


def _arguments_of(step: QuestionStep) -> Object:
    return {**step.given, **dict.fromkeys(step.lacks, "")} if step.lacks else step.given


def _describe_pair(call: Call, result: Result | None) -> str:
    """A line with a call and its result."""
    arguments = call.input
    given = (
        ", ".join(f"{key}={text_of(value)}" for key, value in arguments.items())
        if isinstance(arguments, dict)
        else call.arguments
    )
    head = f"{call.name}({given})"
    if result is None:
        return f"{head}: no result"
    text = output_text(result.output)
    more = f"… ({len(text)} characters)" if len(text) > MAX_QUOTED_LENGTH else ""
    return f"{head} {'failed' if result.error else 'gave'}: {text[:MAX_QUOTED_LENGTH]}{more}"
