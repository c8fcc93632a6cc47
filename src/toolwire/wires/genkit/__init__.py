"""Genkit: the messages, requests and responses of its models, in all of its languages.

- missing-refs: a tool request and its response are paired by `ref`, which may be missing or empty.
  Then they pair by name. Responses to several calls to one tool without refs are ambiguous, because
  their order says nothing. So a minted id is sent in a response, and in a history with such calls.
  https://github.com/firebase/genkit/blob/main/js/ai/src/parts.ts
- ref-is-not-the-name: neither the tool's name nor its output ever replaces the ref. Genkit for Go
  sent each of them as the `tool_call_id` of an OpenAI request, which was refused.
  https://github.com/genkit-ai/genkit/issues/3559
- parallel-calls-of-one-tool: the responses of one turn come in the order in which the tools
  finished.
  https://github.com/firebase/genkit/blob/main/js/ai/src/generate/resolve-tool-requests.ts
- media-and-resources: a response has any JSON value as `output`, and media as parts under
  `content`; it has no error flag.
  https://github.com/firebase/genkit/blob/main/js/ai/src/parts.ts
- reasoning-keeps-its-signature: the field that a part has is its type; `metadata` is next to it and
  may hold a signature.
  https://github.com/firebase/genkit/blob/main/js/ai/src/parts.ts
- old-candidates: early responses had a list of candidates; now there is one message.
  https://github.com/firebase/genkit/blob/main/js/ai/src/model-types.ts
- output-schema-and-named-tools: a request of the framework itself may name its tools without
  describing them.
  https://github.com/firebase/genkit/blob/main/js/ai/src/model-types.ts
"""

from __future__ import annotations

from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.genkit.blocks import BLOCKS, CAPABILITIES, NAME
from toolwire.wires.genkit.bodies import match_score, read, write
from toolwire.wires.genkit.stream_writer import STREAM

WIRE = Wire(
    NAME,
    "Genkit",
    blocks=all_blocks(BLOCKS),
    read=read,
    write=write,
    match_score=match_score,
    stream=STREAM,
    capabilities=CAPABILITIES,
)
