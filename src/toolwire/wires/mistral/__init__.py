"""Mistral chat completions: the chat shape with some additional rules.

- nine-characters: an id is exactly nine letters or digits.
  https://github.com/mistralai/mistral-vibe/issues/1075
- null-is-a-word: the SDK writes the text "null" for a missing id and 0 for a missing index: neither
  identifies a call.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/toolcall.py
- arguments-as-object: arguments are text, or the object itself.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/functioncall.py
- reasoning-is-a-chunk: reasoning is in the content, as a list inside a `thinking` chunk.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/thinkchunk.py
- media-by-string: `image_url`, `document_url` and `input_audio` may be plain strings.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/imageurlchunk.py
- any-is-required: `any` and `required` both mean that some tool must be called.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/toolchoiceenum.py
- stream-text: the last chunk has both the reason to stop and the usage.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/completionchunk.py
- prefix-to-go-on: a last assistant message with `prefix` is continued by the model, which repeats
  it in its answer. On other wires its position alone says this. A repair adds a user message
  instead: clients of other wires expect only the continuation.
  https://github.com/mistralai/client-python/blob/main/src/mistralai/client/models/assistantmessage.py
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.families.chat.choice import ChatStreamSpec
from toolwire.wires.families.chat.stream_writer import chat_stream
from toolwire.wires.mistral.blocks import CALLS, CONTENT, NAME, RESULTS
from toolwire.wires.mistral.bodies import BODIES, match_score

_MEDIA = MediaSupport(image=DATA_OR_URL, audio=DATA_OR_URL, file=DATA_OR_URL)

WIRE = Wire(
    name=NAME,
    title="Mistral chat completions",
    blocks=all_blocks(CONTENT, CALLS, RESULTS),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="messages",
    stream=chat_stream(
        ChatStreamSpec(BODIES, keeps_index=True, whole_calls=True, usage_in_last_choice=True)
    ),
    capabilities=Capabilities(
        refusals=False,
        media={"system": _MEDIA, "user": _MEDIA},
        media_names=frozenset({"file"}),
        reasoning_in_history=False,
        reasoning_texts="one",
        error_flag=False,
        result_media="after",
        text_after_calls=False,
        url_types=False,
        choice_names="one",
        usage_fields=frozenset({"cached"}),
    ),
    read_outcome=BODIES.read_outcome,
)
