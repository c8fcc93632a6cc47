"""Microsoft.Extensions.AI: lists of ChatMessage, a request with its ChatOptions, a ChatResponse.

- type-first: every content names its type in `$type`; System.Text.Json needs it first in the
  object.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/AIContent.cs
- call-id-required: `callId` may be empty, but it is never null; so a minted id is sent, too.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/ToolCallContent.cs
- hosted-tools-answer-in-place: calls of the service's own tools (code interpreter, image, search,
  MCP) are next to their results in the assistant's message, and hold contents of their own.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/CodeInterpreterToolResultContent.cs
- approval-is-a-call: a `toolApprovalRequest` and its response are paired by `requestId`; the call
  that needs approval is inside the request.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/ToolApprovalRequestContent.cs
- informational-call: a call with `informationalOnly` was run by another party and must not be run
  again.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/FunctionCallContent.cs
- exceptions-are-not-serialized: the JSON of a result does not have the exception of a failed call,
  and there is no error flag, only a value.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/Contents/FunctionResultContent.cs
- reasoning-and-refusal: a refusal is a content of type `error` with the code `Refusal`.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.OpenAI/OpenAIChatClient.cs
- answer-of-several-turns: a ChatResponse may have calls, their results and the answer after them.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/ChatCompletion/ChatResponse.cs
- instructions-beside-messages: `options.instructions` is also a system prompt.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/ChatCompletion/ChatOptions.cs
- message-ids-and-times: the id and time of a message belong to the log and are not reported as
  losses.
  https://github.com/dotnet/extensions/blob/main/src/Libraries/Microsoft.Extensions.AI.Abstractions/ChatCompletion/ChatMessage.cs
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
