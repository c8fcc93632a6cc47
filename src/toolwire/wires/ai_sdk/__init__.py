"""AI SDK: the UI messages of its chat clients (versions 5, 6 and 7) and its model messages.

A request is `{messages: [...]}` as a chat client posts it (with `id`, `trigger`, `messageId`), or
the bare list. A message with `parts` is a UI message, one with `content` a model message. A
response is one UI message of the assistant, or `{messages: [...]}` with model messages, as in the
`response` of a result. Conversations of other wires are written as UI messages that version 5 can
read, except for approvals. Message ids and `step-start` are bookkeeping: they are made again where
they are needed, and other wires do not lose them. A response is written as the message that a
client has after the stream; `finishReason` is next to its parts if they do not imply it.

- call-and-result-share-a-part: a tool part is a call and, once there is one, its result;
  `toolCallId` identifies both.
  https://github.com/vercel/ai/blob/main/packages/ai/src/ui/ui-messages.ts
- steps-are-turns: an assistant message is a run of steps; in each step all calls come first, then
  their results.
  https://github.com/vercel/ai/blob/main/packages/ai/src/ui/convert-to-model-messages.ts
- an-id-comes-back-while-its-call-is-open: ids are unique only within a step; a result belongs to
  the call in its own part.
  https://github.com/vercel/ai/blob/main/packages/ai/src/ui/process-ui-message-stream.ts
- unfinished-input-stays-open: a call whose input is streaming, or that waits for approval, has no
  result, and none is invented.
  https://github.com/vercel/ai/blob/main/content/docs/04-ai-sdk-ui/03-chatbot-tool-usage.mdx
- denied-is-an-error: a denied call has an error result, with the reason.
  https://github.com/vercel/ai/blob/main/content/docs/03-agents/06-tool-approvals.mdx
- approval-belongs-to-its-call: other wires request approval with a second call; here the approval
  is a field of the tool part, and is read as `Call.approval`. A wire that requests approval with
  calls gets request and decision as a call and its result.
  https://github.com/vercel/ai/blob/main/content/docs/03-agents/06-tool-approvals.mdx
- preliminary-is-progress: an output with `preliminary` is progress. It is read as a result with
  `preliminary`, and a later result replaces it.
  https://github.com/vercel/ai/blob/main/content/docs/07-reference/01-ai-sdk-core/20-tool.mdx
- errors-are-text: a failed tool part has `errorText` and no output, and perhaps only the raw input.
  https://github.com/vercel/ai/blob/main/packages/ai/src/ui/ui-messages.ts
- content-in-output: an output is any JSON; media are in it as `{type: "content", value: [...]}`.
  https://github.com/vercel/ai/blob/main/packages/provider-utils/src/types/content-part.ts
- hosted-tools-answer-in-place: the result of a provider-executed tool is in the assistant message.
  https://github.com/vercel/ai/blob/main/packages/ai/src/ui/convert-to-model-messages.ts
- model-messages-name-their-outputs: the output of a result in a model message names its own type.
  https://github.com/vercel/ai/blob/main/content/docs/07-reference/01-ai-sdk-core/30-model-message.mdx
- answered-in-a-response: a call that is answered in a response ran on the server, not on the client
  that reads it.
  https://github.com/vercel/ai/blob/main/content/docs/04-ai-sdk-ui/03-chatbot-tool-usage.mdx
- settings-beside-messages: settings are next to the messages, under the names of `streamText`'s
  options.
  https://github.com/vercel/ai/blob/main/content/docs/07-reference/01-ai-sdk-core/02-stream-text.mdx
- version-7-parts: steering messages, reasoning files, custom parts and references exist only in
  version 7.
  https://github.com/vercel/ai/blob/main/content/docs/08-migration-guides/23-migration-guide-7-0.mdx
"""

from __future__ import annotations

from toolwire.wires.ai_sdk import model_messages as model
from toolwire.wires.ai_sdk.blocks import NAME
from toolwire.wires.ai_sdk.bodies import match_score, read, write
from toolwire.wires.ai_sdk.stream_writer import STREAM
from toolwire.wires.ai_sdk.tool_parts import TOOL_PARTS
from toolwire.wires.ai_sdk.ui_messages import BLOCKS
from toolwire.wires.engine.capabilities import Capabilities, MediaForm, MediaSupport
from toolwire.wires.engine.specs import Wire, all_blocks

_FORMS: frozenset[MediaForm] = frozenset({"data", "url", "text"})
_FILES = MediaSupport(image=_FORMS, audio=_FORMS, video=_FORMS, file=_FORMS)

WIRE = Wire(
    name=NAME,
    title="AI SDK messages",
    blocks=all_blocks(BLOCKS, TOOL_PARTS, model.BLOCKS, (model.SERVER_CALL, model.SERVER_RESULT)),
    read=read,
    write=write,
    match_score=match_score,
    stream=STREAM,
    capabilities=Capabilities(
        read_by_model=False,
        refusals=False,
        media={"user": _FILES, "assistant": _FILES, "result": _FILES},
        candidates=False,
        choice_names="one",
    ),
    hosts=True,
)
