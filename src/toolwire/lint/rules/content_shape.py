"""The content of a message has a shape that the target does not take, although it means nothing
else than one it takes.

Servers of one shape differ in what may stand beside a call: some want plain text and no list of
blocks ("content must be a string"), some no null ("'NoneType' object is not iterable"). Servers of
blocks refuse texts without words ("text content blocks must be non-empty", "the text field is
blank"), and errors that say nothing.

The fix says the same in the shape that is taken: texts in a list become one text, null becomes an
empty one, a blank text beside something else goes. An error without a word gets one, marked as made
here. A message that is nothing but blank cannot be sent as it is; a marked word in it is somebody's
who did not say it, so that fix is unsafe. A list that holds pictures stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, get, put
from toolwire.conversation.model import Fix
from toolwire.conversation.observations import Observation
from toolwire.conversation.parts import Message, Part, Result, Text
from toolwire.lint.examples.chat import (
    USER,
    assistant,
    blocks_example,
    chat_example,
    tool_call,
    tool_message,
)
from toolwire.lint.facts import Facts
from toolwire.lint.json_remove import remove_paths
from toolwire.lint.rule import Example, Fixed, FixedBody, Problem, Rule
from toolwire.lint.transforms import MARK, remove_parts, replace_parts

BLANK = f"{MARK} a message without words"
FAILED = f"{MARK} the tool failed and said nothing"


class _Fault(Struct, frozen=True):
    """One odd shape, and what to do: a place and what stands there now, a place to empty, or a part
    or message to say anew."""

    path: JsonPath
    why: str
    done: str = ""
    fix: Fix | None = "safe"
    puts: JSON = None
    goes: bool = False
    part: Part | None = None
    blank: Part | None = None
    message: Message | None = None


def _found(facts: Facts) -> Iterator[_Fault]:
    profile = facts.profile
    if profile.assistant_content and facts.calls and facts.own_wire:
        for n in dict.fromkeys(facts.message_index(one) for one in facts.calls):
            yield from _beside(facts, facts.messages[n])
    if profile.rejects_blank_text:
        last = len(facts.messages) - 1
        for n, message in enumerate(facts.messages):
            if message.role in ("user", "assistant") and not (
                n == last and message.role == "assistant"
            ):
                yield from _blank(message)
        for result in facts.results:
            if result.error and result.executor == "client" and not _says(result):
                yield _Fault(
                    result.path,
                    f"the result of {result.call_id} is an error that says nothing",
                    "the error got a word",
                    part=result,
                )


def _beside(facts: Facts, message: Message) -> Iterator[_Fault]:
    """What stands beside calls, in messages that have a field for it."""
    raw = message.raw
    if not isinstance(raw, dict) or "content" not in raw:
        return
    at, content = (*message.path, "content"), raw["content"]
    who = facts.profile.name
    if isinstance(content, list) and facts.profile.assistant_content == "text":
        texts = [get(block, ("text",)) for block in content]
        if all(isinstance(text, str) for text in texts):
            yield _Fault(
                at,
                f"the content beside calls is a list; {who} takes plain text",
                "the texts are one text",
                puts="".join(map(str, texts)),
            )
        else:
            yield _Fault(
                at,
                f"the content beside calls is a list, and not all of it is text; {who} takes plain"
                " text",
                fix=None,
            )
    elif content is None and facts.profile.assistant_content == "some":
        yield _Fault(
            at,
            f"the content beside calls is null; {who} wants a text",
            "null is an empty text",
            puts="",
        )


def _blank(message: Message) -> Iterator[_Fault]:
    blank = [part for part in message.parts if part.__class__ is Text and not part.text.strip()]
    if blank and len(blank) < len(message.parts):
        for part in blank:
            yield _Fault(
                part.path,
                "a text has no words",
                "the text without words is taken out",
                goes=True,
                blank=part,
            )
    elif blank or not message.parts:
        yield _Fault(
            message.path,
            f"a message of the {message.role} has no words",
            "a marked word stands in the message",
            "unsafe",
            message=message,
        )


def _says(result: Result) -> bool:
    if isinstance(result.output, tuple):
        return any(not isinstance(part, Text) or part.text.strip() for part in result.output)
    return not isinstance(result.output, str) or bool(result.output.strip())


def _check(facts: Facts) -> Iterable[Problem]:
    return ((fault.path, fault.why, fault.fix) for fault in _found(facts))


def _fix(facts: Facts, unsafe: bool) -> Fixed | FixedBody | None:
    faults = [fault for fault in _found(facts) if fault.fix == "safe" or (unsafe and fault.fix)]
    tool_message = tuple((fault.path, fault.done) for fault in faults)
    here = [fault for fault in faults if fault.part is None and fault.message is None]
    # where things stand in the body is known only until it is written anew: the others come next
    # time
    if here and not facts.own_wire:
        blank = {id(fault.blank) for fault in here}
        return Fixed(
            remove_parts(facts.conversation, blank), tuple((one.path, one.done) for one in here)
        )
    if here:
        body = facts.body
        for fault in here:
            body = body if fault.goes else put(body, fault.path, fault.puts)
        return FixedBody(
            remove_paths(body, [fault.path for fault in here if fault.goes]),
            tuple((one.path, one.done) for one in here),
        )
    parts: dict[int, Part] = {}
    for fault in faults:
        if isinstance(fault.part, Result):
            parts[id(fault.part)] = replace(fault.part, output=FAILED)
    conversation = replace_parts(facts.conversation, parts)
    anew = {id(fault.message) for fault in faults if fault.message is not None}
    messages = tuple(
        replace(now, parts=(Text(BLANK),), source=replace(now.source, raw=UNSET))
        if id(was) in anew
        else now
        for was, now in zip(facts.messages, conversation.messages, strict=True)
    )
    return (
        Fixed(replace(conversation, messages=messages) if anew else conversation, tool_message)
        if tool_message
        else None
    )


_TEXTS: JSON = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
_USE: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_EMPTY: JSON = {"type": "text", "text": " "}
_ERROR: JSON = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": ""}
_ANSWER: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
RULE = Rule(
    "TW063",
    "content-shape",
    title="a message has a shape that the target does not take",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=11,
    ruled_out_by=(Observation.NO_BLANK_TEXT | Observation.NO_ERROR_RESULTS,),
    bad=(
        chat_example(
            USER, assistant(tool_call("c1"), content=_TEXTS), tool_message("c1"), target="groq"
        ),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1"), target="cerebras"),
        blocks_example(
            USER,
            {"role": "assistant", "content": [_EMPTY, _USE]},
            {"role": "user", "content": [_ANSWER, _EMPTY]},
        ),
        blocks_example(
            USER, {"role": "assistant", "content": [_USE]}, {"role": "user", "content": [_ERROR]}
        ),
        blocks_example({"role": "user", "content": ""}),
        Example(
            "bedrock",
            "bedrock",
            {
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {"role": "assistant", "content": [{"text": ""}]},
                    {"role": "user", "content": [{"text": "hi"}, {"text": ""}]},
                ]
            },
        ),
    ),
    good=(
        chat_example(USER, assistant(tool_call("c1"), content=_TEXTS), tool_message("c1")),
        chat_example(
            USER, assistant(tool_call("c1"), content="x"), tool_message("c1"), target="groq"
        ),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1")),
        blocks_example(
            USER, {"role": "assistant", "content": [_USE]}, {"role": "user", "content": [_ANSWER]}
        ),
        blocks_example(USER, {"role": "assistant", "content": ""}),
    ),
)
