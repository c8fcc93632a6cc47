"""Ollama's own chat, /api/chat.

- answer-without-ids: servers before 0.12.10 send no ids and most templates ignore them; a minted id
  is never sent.
  https://github.com/ollama/ollama/issues/11417
- parallel-calls-by-order: without ids, results follow the order of their calls; `tool_name` names
  the tool.
  https://github.com/ollama/ollama/blob/main/api/types.go
- odd-arguments: arguments are an object; any other value cannot be sent.
  https://github.com/ollama/ollama/blob/main/api/types.go
- images-beside-text: `images` has bare base64 next to the text of a message; there are no URLs
  and no MIME types.
  https://github.com/ollama/ollama/blob/main/docs/api.md
- answer-with-calls: a response with calls ends with `stop` like any other.
  https://github.com/ollama/ollama/issues/6462
- one-text: a message has one text.
  https://github.com/ollama/ollama/blob/main/api/types.go
- streams-by-default: a request without `stream` gets a streamed response.
  https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import DATA_ONLY, Capabilities, MediaSupport
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.ollama.blocks import CALLS, IMAGE, NAME, RESULTS
from toolwire.wires.ollama.bodies import BODIES, match_score
from toolwire.wires.ollama.stream import STREAM

_IMAGES = MediaSupport(image=DATA_ONLY)

WIRE = Wire(
    name=NAME,
    title="Ollama /api/chat",
    blocks=all_blocks((IMAGE,), CALLS, RESULTS),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="messages",
    stream=STREAM,
    capabilities=Capabilities(
        refusals=False,
        media={"system": _IMAGES, "user": _IMAGES, "assistant": _IMAGES, "result": _IMAGES},
        media_names=frozenset(),
        reasoning_texts="first",
        error_flag=False,
        text_after_calls=False,
        candidates=False,
        strict_tools=False,
        format_fields=frozenset(),
        usage_fields=frozenset(),
    ),
)
