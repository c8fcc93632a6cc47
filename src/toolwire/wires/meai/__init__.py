"""Microsoft.Extensions.AI: lists of ChatMessage, a request with its ChatOptions, a ChatResponse.

- type-first: every content names its type in `$type`; System.Text.Json wants it first in the
  object.
- call-id-required: `callId` is never null here, so a minted id is sent too.
- hosted-tools-answer-in-place: code interpreter, image, search and MCP calls of a service stand
  beside their results in the assistant's message, and hold contents of their own.
- approval-is-a-call: a `toolApprovalRequest` and its response are paired by `requestId`; the call
  that needs approval is inside the request.
- informational-call: a call with `informationalOnly` has been run by another party and must not be
  run again.
- exceptions-are-not-serialised: the JSON of a result does not hold the exception of a failed call,
  and there is no error flag, only a value.
- refusal-is-an-error: a refusal is a content of type `error` with the code `Refusal`.
- response-of-several-turns: a ChatResponse may hold calls, their results and the answer after them.
- instructions-beside-messages: `options.instructions` is a system prompt too.
- log-keeping: the id and time of a message belong to the log and are not reported as losses.
"""

from __future__ import annotations

from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.meai.blocks import BLOCKS, CAPABILITIES, NAME
from toolwire.wires.meai.bodies import match_score, read, write
from toolwire.wires.meai.stream import STREAM

WIRE = Wire(
    NAME,
    "Microsoft.Extensions.AI",
    blocks=all_blocks(BLOCKS),
    read=read,
    write=write,
    match_score=match_score,
    stream=STREAM,
    capabilities=CAPABILITIES,
)
