"""Bedrock Converse.

- type-is-the-field: a block has no type; the field it has names its type.
- roles-alternate: consecutive messages of one role are one message, so text after results stands
  in their message.
- results-together: all results of a turn stand in the next user message.
- tool-config-required: a history with calls is refused without `toolConfig`, also if no tool is
  defined any more.
- error-is-not-empty: a result whose status is error must have content.
- json-is-an-object: `input` and a result's `json` hold objects; other JSON is sent as text.
- server-tools-answer-in-place: `server_tool_use` and its result stand in the same assistant
  message.
- reasoning-keeps-its-signature: reasoning goes back with its signature; reasoning of other
  providers is refused in a history.
- names-of-documents: a document needs a name of letters, digits, blanks, hyphens and brackets.
- bytes-are-base64: what an SDK takes as bytes is base64 text in the JSON body.
"""

from toolwire.wires.bedrock.blocks import BLOCKS, CAPABILITIES, SERVER_RESULT, STREAM_STARTS
from toolwire.wires.bedrock.bodies import HISTORY, match_score, read, write
from toolwire.wires.bedrock.settings import NAME
from toolwire.wires.bedrock.stream import STREAM
from toolwire.wires.engine.specs import Wire, all_blocks

WIRE = Wire(
    name=NAME,
    title="Bedrock Converse",
    blocks=all_blocks(BLOCKS, (SERVER_RESULT,), STREAM_STARTS),
    read=read,
    write=write,
    match_score=match_score,
    messages_field="messages",
    read_message=HISTORY.read,
    stream=STREAM,
    capabilities=CAPABILITIES,
)
