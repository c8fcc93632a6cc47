"""Model Context Protocol: JSON-RPC messages, single or as a recorded log.

- id-keeps-its-type: an id is an integer or a string, and 1 is not "1". In the neutral id an integer
  is its digits; a string that could be mistaken for an integer is written with its quotes. Both
  directions are reversible and need no context.
  https://modelcontextprotocol.io/specification/2026-07-28/basic
- lost-id-is-a-notification: a request without an id is still a valid message, but it is a
  notification and gets no response.
  https://modelcontextprotocol.io/specification/2025-06-18/basic
- tool-failure-is-a-result: `isError` is a field of a normal result; a JSON-RPC error is a failure
  of the protocol.
  https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/docs/specification/2026-07-28/server/tools.mdx
- input-required: a call may be answered by `resultType: input_required`; the retry is a new request
  with a new id.
  https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
- structured-twice: structured content is repeated as text; where the two differ, the text is what
  the model sees.
  https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/docs/specification/2026-07-28/server/tools.mdx
- sampling-turns-the-tables: a server may send a request to the client's model; that request holds a
  whole conversation.
  https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/docs/specification/2025-11-25/client/sampling.mdx
- answers-may-overtake: responses arrive in any order, and calls may be made while others are open.
  https://modelcontextprotocol.io/specification/2025-06-18/basic
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import Capabilities
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.mcp.blocks import BLOCKS, MEDIA, NAME
from toolwire.wires.mcp.bodies import match_score, read, write
from toolwire.wires.mcp.messages import CALL, ERROR, INPUT_REQUIRED, RESULT

WIRE = Wire(
    name=NAME,
    title="Model Context Protocol",
    blocks=all_blocks((CALL, RESULT, INPUT_REQUIRED, ERROR), BLOCKS),
    read=read,
    write=write,
    match_score=match_score,
    capabilities=Capabilities(
        read_by_model=False,
        media=MEDIA,
        reasoning_in_history=False,
        reasoning_in_answers=False,
        messages_in_answers=True,
        tools_in_answers=True,
        strict_tools=False,
        choice_names="none",
    ),
)
