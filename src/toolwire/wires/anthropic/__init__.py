"""Anthropic Messages.

- results-come-first: all results of a turn stand in the next user message, before any text.
- thinking-keeps-its-signature: a thinking block goes back with its signature, or not at all;
  reasoning of other providers is refused.
- server-tools-answer-in-place: a `server_tool_use` and its result stand in the same assistant
  message.
- input-is-an-object: arguments must be a JSON object.
- system-stands-apart: the system prompt is a field of the request, not a message.
- max-tokens-required: a request must limit the length of the answer.
"""

from msgspec.structs import replace

from toolwire.wires.anthropic.blocks import BLOCKS, CAPABILITIES, TOOLSETS
from toolwire.wires.anthropic.bodies import HISTORY, match_score, read, read_outcome, write
from toolwire.wires.anthropic.settings import NAME, WEB_SEARCH
from toolwire.wires.anthropic.stream import STREAM
from toolwire.wires.engine.specs import Wire, all_blocks

WIRE = Wire(
    name=NAME,
    title="Anthropic Messages",
    blocks=all_blocks(BLOCKS, TOOLSETS),
    read=read,
    write=write,
    match_score=match_score,
    messages_field="messages",
    read_message=HISTORY.read,
    stream=STREAM,
    capabilities=replace(CAPABILITIES, web_search=WEB_SEARCH),
    read_outcome=read_outcome,
)
