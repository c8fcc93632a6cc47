"""A result, or a message of the assistant, contains media where the model accepts only text.

Gemini 3 accepts media in `functionResponse.parts`. Gemini 2.5 refuses them: "Unable to submit
request because `function_response.parts` is not supported for this model". OpenAI's chat API
refuses images: "Image URLs are only allowed for messages with role 'user', but this message with
role 'tool' contains an image URL"; some of its models accept the image but do not see it. The same
is true of an image that a model made and that is stored in its message. This happens when a
conversation continues with another model, or when a client sends the same form to all models.

The fix replaces each medium with a description and moves the media to a user message after the
results. In that message, a text before each medium names its call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.conversation.model import Loss
from toolwire.conversation.observations import Observation
from toolwire.conversation.part_map import PartMap, PartSet
from toolwire.conversation.parts import MARK, Media, Message, Part, Result, Source, Text, describe
from toolwire.lint.examples.blocks import (
    HI,
    call_part,
    contents_example,
    model_parts,
    response_part,
    user_parts,
)
from toolwire.lint.examples.chat import USER, assistant, chat_example, tool_call, tool_message
from toolwire.lint.facts import Facts
from toolwire.lint.fixes.transforms import replace_parts, with_messages
from toolwire.lint.rule import FixedConversation, Problem, Rule
from toolwire.wires import wire
from toolwire.wires.engine.part_lowering import MovedMedia, lower_result

_REPLY_LABEL = f"{MARK} from the message of the assistant:"


def _results_with_media(facts: Facts) -> list[Result]:
    pattern, model = facts.profile.text_result_models, facts.conversation.settings.get("model")
    if not pattern or re.search(pattern, model if isinstance(model, str) else "") is None:
        return []
    return [
        result
        for result in facts.results
        if isinstance(result.output, tuple) and any(map(_is_medium, result.output))
    ]


def _media_of_assistant(facts: Facts) -> list[Media]:
    """The media in assistant messages; other wires do not get them."""
    if not (facts.own_wire and facts.profile.media_only_from_user):
        return []
    return [
        part
        for message in facts.messages
        if message.role == "assistant" and facts.conversation.kind == "request"
        for part in message.parts
        if isinstance(part, Media) and part.text is None
    ]


def _is_medium(part: Part) -> bool:
    return isinstance(part, Media) and part.text is None


def _check(facts: Facts) -> Iterable[Problem]:
    for result in _results_with_media(facts):
        message = f"the result for {result.call_id} contains media; this model accepts only text"
        yield result.path, message, "safe"
    for media in _media_of_assistant(facts):
        yield media.path, f"this model accepts no {media.kind} from the assistant", "safe"


def _fix(facts: Facts, unsafe: bool) -> FixedConversation | None:
    results, replies = PartSet(_results_with_media(facts)), PartSet(_media_of_assistant(facts))
    if not results and not replies:
        return None
    capabilities = replace(wire(facts.profile.wire).capabilities, result_media="after")
    losses: list[Loss] = []
    moved, new = MovedMedia(), PartMap[Part, Part]()
    media: dict[int, Message] = {}
    for index, message in enumerate(facts.messages):
        if moved.parts and not any(isinstance(part, Result) for part in message.parts):
            media[index] = Message("user", tuple(moved.take()))
        moved.note_calls(message)
        for part in message.parts:
            if isinstance(part, Result) and part in results:
                new[part] = lower_result(part, capabilities, losses, moved)
            elif isinstance(part, Media) and part in replies:
                new[part] = Text(describe(part), source=Source(path=part.path))
                moved.parts += [Text(_REPLY_LABEL), replace(part, source=Source(path=part.path))]
    if moved.parts:
        media[len(facts.messages)] = Message("user", tuple(moved.take()))
    conversation = replace_parts(facts.conversation, new)
    messages: list[Message] = []
    for index, message in enumerate(conversation.messages):
        messages += [media[index], message] if index in media else [message]
    messages += [message for index, message in media.items() if index == len(facts.messages)]
    changes = tuple(
        (result.path, "moved the media of the result to a user message")
        for result in facts.results
        if result in results
    ) + tuple((media.path, "moved to a user message") for media in _media_of_assistant(facts))
    return FixedConversation(with_messages(conversation, messages), changes)


_IMAGE: JSON = {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}
_RESULT: JSON = {
    "functionResponse": {"name": "f", "response": {"output": "see"}, "parts": [_IMAGE]}
}

_IMAGE_URL: JSON = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}

RULE = Rule(
    "TW074",
    "media-in-result",
    title="a result or a message of the assistant contains media that the model does not accept",
    cost="neutral",
    check=_check,
    fix=_fix,
    order=44,
    handled_by="lower",
    applies=lambda profile: bool(profile.text_result_models or profile.media_only_from_user),
    ruled_out_by=(Observation.ONLY_TEXT_AND_TOOLS,),
    bad=(
        contents_example(
            HI, model_parts(call_part("f")), user_parts(_RESULT), model="gemini-2.5-flash"
        ),
        contents_example(
            HI,
            model_parts(call_part("f"), call_part("f")),
            user_parts(_RESULT, _RESULT),
            HI,
            model="gemini-2.0-flash",
            target="vertex-gemini",
        ),
        chat_example(USER, assistant(tool_call("call_1")), tool_message("call_1", [_IMAGE_URL])),
        chat_example(USER, {"role": "assistant", "content": [_IMAGE_URL]}, USER),
    ),
    good=(
        contents_example(
            HI, model_parts(call_part("f")), user_parts(_RESULT), model="gemini-3-pro"
        ),
        contents_example(
            HI, model_parts(call_part("f")), user_parts(response_part("f")), model="gemini-2.5-pro"
        ),
        chat_example(
            USER,
            assistant(tool_call("call_1")),
            tool_message("call_1", [{"type": "text", "text": "see"}]),
            {"role": "user", "content": [_IMAGE_URL]},
        ),
    ),
)
