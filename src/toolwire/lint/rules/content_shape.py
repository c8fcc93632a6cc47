"""The content of a message has a shape that the target refuses, although an accepted shape exists.

Chat servers differ in the content that they accept beside calls: some accept only plain text, not a
list of blocks ("content must be a string"), and some refuse null ("'NoneType' object is not
iterable"). Block servers refuse blank text ("text content blocks must be non-empty", "the text
field is blank") and error results without content.

The fix writes the same content in an accepted shape: it joins a list of texts into one text,
replaces null with an empty string, and removes blank text beside other content. An error result
without content gets a marked text. A message that contains only blank text cannot be sent; the fix
replaces its content with a marked text. A block that is not text, in a list that has to become
text, is quoted in a marked text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, put
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
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
from toolwire.lint.fixes.block_text import text_of_block
from toolwire.lint.fixes.json_remove import remove_paths
from toolwire.lint.fixes.transforms import MARK, remove_parts, replace_parts
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule

_BLANK_MESSAGE_TEXT = f"{MARK} an empty message"
_EMPTY_ERROR_TEXT = f"{MARK} the tool failed without a message"


_NOTHING_BLANK = Observation.NO_BLANK_TEXT | Observation.NO_ERROR_RESULTS


class _Fault(Struct, frozen=True):
    """A refused shape and its fix.

    The fix sets `value` at `path`, removes `blank_text`, or rewrites `error_result` or
    `blank_message`.
    """

    path: JsonPath
    message: str
    change: str = ""
    value: JSON = None
    blank_text: Part | None = None
    error_result: Result | None = None
    blank_message: Message | None = None


def _faults(facts: Facts) -> Iterator[_Fault]:
    profile = facts.profile
    if facts.conversation.kind != "request":
        return
    if profile.assistant_content and facts.calls and facts.own_wire:
        for index in dict.fromkeys(facts.message_index(call) for call in facts.calls):
            yield from _content_beside_calls(facts, facts.messages[index])
    if profile.content_is_text and facts.own_wire:
        for message in facts.messages:
            yield from _content_as_text(message)
    if profile.rejects_blank_text and not facts.observations.holds(_NOTHING_BLANK):
        last = len(facts.messages) - 1
        for index, message in enumerate(facts.messages):
            is_last_reply = index == last and message.role == "assistant"
            if message.role in ("user", "assistant") and not is_last_reply:
                yield from _blank_text(message, own_wire=facts.own_wire)
        for result in facts.results:
            if result.error and result.executor == "client" and not _has_content(result):
                yield _Fault(
                    result.path,
                    f"the result for {result.call_id} is an error without content",
                    change="added a marked text to the error result",
                    error_result=result,
                )


def _content_beside_calls(facts: Facts, message: Message) -> Iterator[_Fault]:
    """Check the `content` field of a message with calls, if it has that field."""
    raw = message.raw
    if not isinstance(raw, dict) or "content" not in raw:
        return
    path, content = (*message.path, "content"), raw["content"]
    target = facts.profile.name
    if isinstance(content, list) and facts.profile.assistant_content == "text":
        yield _Fault(
            path,
            f"the content beside calls is a list; {target} accepts only plain text",
            change="joined the list of texts into one text",
            value="".join(map(text_of_block, content)),
        )
    elif content is None and facts.profile.assistant_content == "some":
        yield _Fault(
            path,
            f"the content beside calls is null; {target} requires a string",
            change="replaced null with an empty string",
            value="",
        )


def _content_as_text(message: Message) -> Iterator[_Fault]:
    """Check the content of a message that is no result, on a wire that holds only text."""
    content = message.raw.get("content") if isinstance(message.raw, dict) else None
    if message.role == "tool" or content is None or isinstance(content, str):
        return
    blocks = content if isinstance(content, list) else [content]
    yield _Fault(
        (*message.path, "content"),
        "the content is not plain text",
        change="joined the content into one text",
        value="\n".join(
            block if isinstance(block, str) else text_of_block(block) for block in blocks
        ),
    )


def _blank_text(message: Message, *, own_wire: bool) -> Iterator[_Fault]:
    """Check for blank texts beside other parts, and for a message without any content.

    A message without parts is not written to another wire.
    """
    texts = [part for part in message.parts if part.__class__ is Text and not part.text.strip()]
    if texts and len(texts) < len(message.parts):
        for text in texts:
            yield _Fault(
                text.path, "the text is blank", change="removed the blank text", blank_text=text
            )
    elif texts or (own_wire and not message.parts):
        yield _Fault(
            message.path,
            f"the {message.role} message is blank",
            change="replaced the blank content with a marked text",
            blank_message=message,
        )


def _has_content(result: Result) -> bool:
    if isinstance(result.output, tuple):
        return any(not isinstance(part, Text) or part.text.strip() for part in result.output)
    return not isinstance(result.output, str) or bool(result.output.strip())


def _check(facts: Facts) -> Iterable[Problem]:
    return ((fault.path, fault.message, "safe") for fault in _faults(facts))


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | FixedBody | None:
    faults = list(_faults(facts))
    if not faults:
        return None
    # Paths are valid only until the body is written again, so faults that need a rewritten part or
    # message wait for the next round.
    path_faults = [
        fault for fault in faults if fault.error_result is None and fault.blank_message is None
    ]
    if path_faults:
        return _fix_paths(facts, path_faults)
    return _fix_parts(facts, faults)


def _fix_paths(facts: Facts, faults: list[_Fault]) -> FixedConversation | FixedBody:
    """Remove blank texts and set values at paths."""
    changes = tuple((fault.path, fault.change) for fault in faults)
    if not facts.own_wire:
        blank_texts = PartSet(fault.blank_text for fault in faults if fault.blank_text is not None)
        return FixedConversation(remove_parts(facts.conversation, blank_texts), changes)
    body = facts.body
    for fault in faults:
        if fault.blank_text is None:
            body = put(body, fault.path, fault.value)
    paths = [fault.path for fault in faults if fault.blank_text is not None]
    return FixedBody(remove_paths(body, paths), changes)


def _fix_parts(facts: Facts, faults: list[_Fault]) -> FixedConversation:
    """Write marked texts into error results and blank messages."""
    changes = tuple((fault.path, fault.change) for fault in faults)
    results: PartMap[Part, Part] = PartMap(
        (fault.error_result, replace(fault.error_result, output=_EMPTY_ERROR_TEXT))
        for fault in faults
        if fault.error_result is not None
    )
    conversation = replace_parts(facts.conversation, results)
    blank = PartSet(fault.blank_message for fault in faults if fault.blank_message is not None)
    if not blank:
        return FixedConversation(conversation, changes)
    messages: list[Message] = []
    for original, message in zip(facts.messages, conversation.messages, strict=True):
        if original in blank:
            source = replace(message.source, raw=UNSET)
            message = replace(message, parts=(Text(_BLANK_MESSAGE_TEXT),), source=source)
        messages.append(message)
    return FixedConversation(replace(conversation, messages=tuple(messages)), changes)


_TEXTS: JSON = [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]
_USE: JSON = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
_BLANK_BLOCK: JSON = {"type": "text", "text": " "}
_EMPTY_ERROR: JSON = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": ""}
_EMPTY_RESULT: JSON = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
RULE = Rule(
    "TW063",
    "content-shape",
    title="the content of a message has a shape that the target refuses",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=11,
    ruled_out_by=(Observation.NO_BLANK_TEXT | Observation.NO_ERROR_RESULTS,),
    ruled_out_on="other wires",
    bad=(
        chat_example(
            USER, assistant(tool_call("c1"), content=_TEXTS), tool_message("c1"), target="groq"
        ),
        chat_example(USER, assistant(tool_call("c1")), tool_message("c1"), target="cerebras"),
        Example("ollama", "ollama", body={"messages": [{"role": "user", "content": _TEXTS}]}),
        blocks_example(
            USER,
            {"role": "assistant", "content": [_BLANK_BLOCK, _USE]},
            {"role": "user", "content": [_EMPTY_RESULT, _BLANK_BLOCK]},
        ),
        blocks_example(
            USER,
            {"role": "assistant", "content": [_USE]},
            {"role": "user", "content": [_EMPTY_ERROR]},
        ),
        blocks_example({"role": "user", "content": ""}),
        Example(
            "bedrock",
            "bedrock",
            body={
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
            USER,
            {"role": "assistant", "content": [_USE]},
            {"role": "user", "content": [_EMPTY_RESULT]},
        ),
        blocks_example(USER, {"role": "assistant", "content": ""}),
    ),
)
