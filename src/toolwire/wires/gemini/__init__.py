"""Gemini generateContent.

- missing-and-empty-ids: ids are optional. A response repeats the id of its call, if any; a
  minted id is not sent. Ids with the prefix `adk-` are made by Google's Agent Development Kit for
  its own log. It removes them before it calls this API (`remove_client_function_call_id`), because
  some servers refuse ids that they did not assign. So they are sent, like minted ids, only where
  pairing needs them.
  https://github.com/googleapis/python-genai/blob/main/google/genai/types.py
- parallel-calls-by-order: without ids, responses are in the order of their calls, together in one
  content without other parts. Each names the function that it answers.
  https://ai.google.dev/gemini-api/docs/function-calling
- results-in-every-form: by convention `response` has `output` or `error`; any other object is the
  result itself.
  https://github.com/googleapis/python-genai/blob/main/google/genai/types.py
- results-of-clients: `@ai-sdk/google` (and so opencode) and Genkit write `{"name": ..., "content":
  output}` as the response. Other wires get the output.
  https://github.com/vercel/ai/blob/main/packages/google/src/convert-to-google-messages.ts
- thoughts-and-signatures: `thoughtSignature` is a field of the part, beside the call, and has to be
  sent back in the same part.
  https://ai.google.dev/gemini-api/docs/thought-signatures
- snake-case: protobuf's JSON accepts `functionCall` and `function_call`; a field is written
  back in its original spelling.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_common.py

Streams: each chunk is a response, and all chunks together are one. There is no end mark: a stream
is over when every candidate has its `finishReason`, or the prompt was blocked. An error arrives as
`{"error": {...}}` instead of a response.

- stream-text-and-thoughts: adjacent texts of one kind are one part; an empty text ends the part.
  The last chunk of an answer with parts has an empty text, as the service sends it: the official
  client drops a turn from its history if a chunk has no part.
  https://github.com/googleapis/python-genai/blob/main/google/genai/chats.py
- stream-code-grounding-and-unknown: usage and ratings are repeated in each chunk; other lists
  continue from chunk to chunk.
  https://github.com/googleapis/python-genai/blob/main/google/genai/types.py
- stream-arguments-by-path: arguments by JSON path are only read; a call is written when it is
  complete.
  https://github.com/googleapis/python-genai/blob/main/google/genai/types.py
"""

from __future__ import annotations

from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.gemini.blocks import CAPABILITIES, NAME, PARTS
from toolwire.wires.gemini.bodies import HISTORY, match_score, read, write
from toolwire.wires.gemini.singletons import write_out_lists
from toolwire.wires.gemini.stream import STREAM

WIRE = Wire(
    name=NAME,
    title="Gemini generateContent",
    blocks=all_blocks(PARTS.blocks),
    read=read,
    write=write,
    match_score=match_score,
    messages_field="contents",
    read_message=HISTORY.read,
    normalize=write_out_lists,
    stream=STREAM,
    capabilities=CAPABILITIES,
)
