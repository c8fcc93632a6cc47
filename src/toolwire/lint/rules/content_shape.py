"""The content of a message has a shape that the target refuses, although an accepted shape exists.

Chat servers accept different content next to calls: some accept only plain text, not a list of
blocks ("content must be a string"), and some refuse null ("'NoneType' object is not iterable").
Many refuse a message without any content: null ("expected a string, got null"), an empty reply
("Assistant message must have either content or tool_calls"), an empty message of any role ("must
not be empty"). Block servers refuse blank text ("text content blocks must be non-empty", "the text
field is blank", "it has an empty text parameter"), even in the content list of a result, and a
block without content ("Must set one of the following keys for tagged union structure"); they also
refuse error results without content, and a last assistant message that ends with white space
("final assistant content cannot end with trailing whitespace").

The fix writes the same content in an accepted shape: it joins a list of texts into one text,
replaces null with an empty string, and removes blank text next to other content and from results.
An error result without content gets a marked text. A message that contains only blank text cannot
be sent; the fix replaces its content with a marked text. A block that is not text, in a list that
has to become text, is quoted in a marked text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object, put
from toolwire.conversation.observations import Observation, is_left_out
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import MARK, Message, Opaque, Part, Result, Text
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
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
from toolwire.lint.fixes.transforms import remove_parts, replace_parts
from toolwire.lint.foreign_content import foreign_calls
from toolwire.lint.model_names import refuses_assistant_at_end
from toolwire.lint.rule import Example, FixedBody, FixedConversation, Problem, Rule
from toolwire.profiles.table import Profile

_BLANK_MESSAGE_TEXT = f"{MARK} an empty message"
_EMPTY_ERROR_TEXT = f"{MARK} the tool failed without a message"


_NOTHING_EMPTY = Observation.NO_BLANK_TEXT | Observation.PLAIN
"""There are no empty texts and no blocks of unknown type, which may have no content."""
_NOTHING_BLANK = _NOTHING_EMPTY | Observation.NO_ERROR_RESULTS


class _Fault(Struct, frozen=True):
    """A refused shape and its fix.

    The fix sets `value` at `path`, removes the value there, or rewrites `text_to_trim`,
    `error_result` or `blank_message`.
    """

    path: JsonPath
    message: str
    change: str = ""
    value: JSON = None
    removed: bool = False
    """True if the fix removes the value at `path`."""
    blank_text: Part | None = None
    """The part that is removed."""
    text_to_trim: Text | None = None
    error_result: Result | None = None
    blank_message: Message | None = None


def _checks_content(profile: Profile) -> bool:
    return bool(
        profile.assistant_content
        or profile.content_is_text
        or profile.empty_content
        or profile.rejects_blank_text
    )


def _ruled_out_for(profile: Profile) -> tuple[int, ...]:
    """The observations that rule out a violation. A conversation does not show whether a text was a
    list or null in the JSON."""
    if profile.assistant_content or profile.content_is_text:
        return ()
    if profile.empty_content == "null":
        return (Observation.PLAIN,)
    if profile.rejects_blank_text:
        return (_NOTHING_EMPTY | Observation.NO_BLANK_RESULTS,)
    return (_NOTHING_EMPTY,)


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
    if profile.empty_content == "null" and facts.own_wire:
        for message in facts.messages:
            raw = message.source.raw
            if raw.__class__ is dict and raw.get("content") is None:
                yield from _null_content(message, raw)
    elif profile.empty_content and not facts.observations.holds(
        _NOTHING_EMPTY if facts.own_wire else Observation.NO_BLANK_TEXT
    ):
        for message in facts.messages:
            yield from _empty_content(facts, message)
    if profile.rejects_blank_text:
        if not facts.observations.holds(_NOTHING_BLANK):
            yield from _blank_content(facts)
        if facts.own_wire:
            for result in facts.results:
                yield from _blank_text_in_result(result)
        yield from _space_at_end(facts)


def _space_at_end(facts: Facts) -> Iterator[_Fault]:
    """Check whether a request ends with text of the assistant that has white space at its end."""
    last = facts.messages[-1] if facts.messages else None
    if last is None or last.role != "assistant" or refuses_assistant_at_end(facts):
        return
    text = last.parts[-1] if last.parts else None
    if type(text) is Text and text.text.strip() and text.text[-1:].isspace():
        yield _Fault(
            text.path,
            "the text of the assistant at the end of the request ends with white space",
            change="removed the white space at the end",
            text_to_trim=text,
        )


def _blank_content(facts: Facts) -> Iterator[_Fault]:
    """Check for blank texts and error results without content."""
    last = len(facts.messages) - 1
    for index, message in enumerate(facts.messages):
        is_last_reply = index == last and message.role == "assistant"
        if message.role != "system" and not is_last_reply:
            yield from _blank_text(message, _is_blank, own_wire=facts.own_wire)
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
    """Check the content of a message that is not a result, on a wire that holds only text."""
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


_CONTENT_FIELDS = ("content", "tool_calls", "function_call", "refusal", "audio")


def _null_content(message: Message, raw: Object) -> Iterator[_Fault]:
    """Check for a message, other than a result, with neither content nor an accepted substitute."""
    if message.role == "tool" or "role" not in raw:
        return
    if all(raw.get(field) is None for field in _CONTENT_FIELDS):
        yield _Fault(
            (*message.path, "content"),
            f"the content of the {message.role} message is null",
            change="replaced null with an empty string",
            value="",
        )


def _empty_content(facts: Facts, message: Message) -> Iterator[_Fault]:
    """Check for empty texts, or for a message without content, as the profile requires."""
    refused = facts.profile.empty_content
    if refused in ("part", "text"):
        is_refused = _is_empty if refused == "text" else _has_no_field
        if message.role != "system":
            yield from _blank_text(message, is_refused, own_wire=facts.own_wire)
        return
    raw = message.source.raw
    if refused == "reply" and message.role in ("user", "system") and isinstance(raw, dict):
        if facts.own_wire and raw.get("content") is None:
            yield from _null_content(message, raw)
        return
    concerned = message.role == "assistant" or (refused == "message" and message.role != "tool")
    if concerned and all(map(_is_empty, message.parts)):
        yield from _blank_text(message, _is_empty, own_wire=facts.own_wire)


def _is_blank(part: Part) -> bool:
    return not part.text.strip() if type(part) is Text else _has_no_field(part)


def _is_empty(part: Part) -> bool:
    """True for an empty text without a signature, and for a block without any content."""
    if type(part) is Text:
        return not part.text and not part.signature
    return _has_no_field(part)


def _has_no_field(part: Part) -> bool:
    return type(part) is Opaque and part.value == {}


def _blank_text_in_result(result: Result) -> Iterator[_Fault]:
    """Check for blank texts in the list of a result, which may be wrapped in a field."""
    fields, path = result.source.raw, result.source.path
    if isinstance(fields, dict) and "content" not in fields and len(fields) == 1:
        ((name, fields),) = fields.items()
        path = (*path, name)
    blocks = fields.get("content") if isinstance(fields, dict) else None
    for index, block in enumerate(blocks if isinstance(blocks, list) else ()):
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and not text.strip():
            yield _Fault(
                (*path, "content", index),
                f"a text of the result for {result.call_id} is blank",
                change="removed the blank text",
                removed=True,
            )


def _blank_text(
    message: Message, is_blank: Callable[[Part], bool], *, own_wire: bool
) -> Iterator[_Fault]:
    """Check for blank texts beside other parts, and for a message without any content.

    A message that is not sent to another wire at all is skipped, and there a blank reply is removed
    instead of replaced.
    """
    if not own_wire and is_left_out(message):
        return
    texts = [part for part in message.parts if is_blank(part) and (own_wire or type(part) is Text)]
    is_blank_reply = not own_wire and message.role == "assistant"
    if texts and (is_blank_reply or len(texts) < len(message.parts)):
        for text in texts:
            noun = "text" if type(text) is Text else "block"
            yield _Fault(
                text.path,
                f"the {noun} is blank",
                change=f"removed the blank {noun}",
                removed=True,
                blank_text=text,
            )
    elif texts or (own_wire and not message.parts and not foreign_calls(message)):
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
        fault
        for fault in faults
        if fault.error_result is None and fault.blank_message is None and fault.text_to_trim is None
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
        if not fault.removed:
            body = put(body, fault.path, fault.value)
    paths = [fault.path for fault in faults if fault.removed]
    return FixedBody(remove_paths(body, paths), changes)


def _fix_parts(facts: Facts, faults: list[_Fault]) -> FixedConversation:
    """Trim texts, and write marked texts into error results and blank messages."""
    changes = tuple((fault.path, fault.change) for fault in faults)
    parts: PartMap[Part, Part] = PartMap(
        (fault.error_result, replace(fault.error_result, output=_EMPTY_ERROR_TEXT))
        for fault in faults
        if fault.error_result is not None
    )
    for fault in faults:
        if fault.text_to_trim is not None:
            parts[fault.text_to_trim] = replace(
                fault.text_to_trim, text=fault.text_to_trim.text.rstrip()
            )
    conversation = replace_parts(facts.conversation, parts)
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
_EMPTY_RESULT: Object = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
_RESPONSE = response_part("f")
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
    concerns=_checks_content,
    ruled_out_for=_ruled_out_for,
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
        blocks_example(
            USER,
            {"role": "assistant", "content": [_USE]},
            {"role": "user", "content": [{**_EMPTY_RESULT, "content": [_BLANK_BLOCK]}]},
        ),
        chat_example(USER, {"role": "assistant", "content": None}, USER),
        chat_example(USER, {"role": "assistant", "content": ""}, USER, target="kimi"),
        chat_example({"role": "system", "content": ""}, USER, target="kimi"),
        Example("mistral", "mistral", {"messages": [USER, {"role": "assistant"}, USER]}),
        Example("mistral", "mistral", {"messages": [{"role": "user", "content": None}]}),
        contents_example(HI, model_parts(), HI),
        contents_example(HI, model_parts({}, call_part("f")), user_parts(_RESPONSE)),
        contents_example(HI, model_parts({"text": ""}), HI, target="vertex-gemini"),
        Example(
            "bedrock",
            "bedrock",
            body={
                "messages": [
                    {"role": "user", "content": [{"text": "hi"}]},
                    {"role": "assistant", "content": [{"text": ""}]},
                    {"role": "user", "content": [{"text": "hi"}, {"text": ""}, {}]},
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
        chat_example(USER, {"role": "assistant", "content": ""}, USER),
        chat_example(USER, {"role": "assistant", "content": None, "refusal": "no"}, USER),
        contents_example(HI, model_parts({"text": ""}, call_part("f")), user_parts(_RESPONSE)),
        contents_example(
            HI, model_parts({"text": "", "thoughtSignature": "c2ln"}), HI, target="vertex-gemini"
        ),
    ),
)
