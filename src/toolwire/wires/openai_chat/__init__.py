"""OpenAI Chat Completions, and every server that uses the same shape.

- parallel-calls-of-one-tool: `tool` messages answer every call of an assistant message before any
  other message follows.
  https://github.com/evalstate/fast-agent/issues/314
- results-in-every-form: a tool message is text and has no error flag; media follow in a user
  message.
  https://github.com/openai/openai-python/blob/main/src/openai/types/chat/chat_completion_tool_message_param.py
- legacy-function-call: `function_call` and the role `function` have no ids; they pair by name. An
  answer to a request with `functions` is written with `function_call`, which is one call.
  https://github.com/openai/openai-python/blob/main/src/openai/types/chat/chat_completion_function_message_param.py
- refusal-and-reasoning: the API of OpenAI has no reasoning; compatible servers send
  `reasoning_content` or `reasoning`.
  https://api-docs.deepseek.com/guides/thinking_mode.md
- stream-executed-tools: a compatible server lists the tools that it ran by `index`, each call
  together with its result.
  https://github.com/groq/groq-python/blob/main/src/groq/types/chat/chat_completion_message.py
- odd-arguments: the JSON text of the model is kept verbatim, valid or not.
  https://github.com/openai/openai-python/blob/main/src/openai/types/chat/chat_completion_message_function_tool_call_param.py
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import (
    CONTENT_BREAKPOINTS,
    DATA_ONLY,
    DATA_OR_URL,
    Capabilities,
    MediaSupport,
)
from toolwire.wires.engine.media import audio_format
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.families.chat.choice import ChatStreamSpec
from toolwire.wires.families.chat.stream_writer import chat_stream
from toolwire.wires.openai_chat.blocks import (
    CALL_DELTA,
    CALLS,
    CONTENT,
    EXECUTED_TOOLS,
    LEGACY_CALL,
    NAME,
    RESULTS,
)
from toolwire.wires.openai_chat.bodies import BODIES, match_score
from toolwire.wires.openai_chat.settings import WEB_SEARCH

_AUDIO_FORMATS = ("", "mp3", "wav")
"""The supported audio formats; audio of another type is sent as a file."""
_MEDIA = MediaSupport(
    image=DATA_OR_URL,
    audio=DATA_ONLY,
    video=DATA_ONLY,
    file=DATA_ONLY,
    accepts=lambda media: media.kind != "audio" or audio_format(media) in _AUDIO_FORMATS,
)

WIRE = Wire(
    name=NAME,
    title="OpenAI Chat Completions",
    blocks=all_blocks(CONTENT, CALLS, (LEGACY_CALL,), RESULTS, (EXECUTED_TOOLS, CALL_DELTA)),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="messages",
    read_message=BODIES.chat.read_message,
    stream=chat_stream(ChatStreamSpec(BODIES, empty_content=None)),
    capabilities=Capabilities(
        media={"system": _MEDIA, "user": _MEDIA},
        # Audio has no name here, but audio of another type is sent as a file, which has one.
        media_names=frozenset({"audio", "video", "file"}),
        reasoning_in_history=False,
        reasoning_texts="one",
        error_flag=False,
        result_media="after",
        text_after_calls=False,
        cache_breakpoints=CONTENT_BREAKPOINTS,
        web_search=WEB_SEARCH,
    ),
    read_outcome=BODIES.read_outcome,
)
