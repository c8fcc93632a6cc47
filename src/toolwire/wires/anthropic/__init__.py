"""Anthropic Messages.

- results-come-first: all results of a turn are in the next user message, before any text.
  https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
- thinking-with-signatures: a thinking block is sent back with its signature, or not at all;
  reasoning from other providers is refused.
  https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/types/thinking_block_param.py
- server-tools: a `server_tool_use` and its result are in the same assistant message.
  https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/types/server_tool_use_block_param.py
- input-is-an-object: arguments must be a JSON object.
  https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/types/tool_use_block_param.py
- system-blocks-and-cache-marks: the system prompt is a field of the request, a text or a list of
  text blocks.
  https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/types/message_create_params.py
- max-tokens-required: a request must limit the length of the answer.
  https://github.com/anthropics/anthropic-sdk-python/blob/main/src/anthropic/types/message_create_params.py
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
