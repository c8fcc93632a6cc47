"""Bedrock Converse.

- type-is-the-field: a block has no `type`; the one field that it has is its type.
  https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
- text-after-results: roles alternate, so text that follows results is in their message.
  https://github.com/langchain-ai/langchain-aws/issues/130
- parallel-calls-of-one-tool: all results of a turn are in the next user message.
  https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html
- tool-config-required: a history with calls is refused without `toolConfig`, even if no tool is
  defined any more.
  https://github.com/langgenius/dify/issues/17545
- error-is-not-empty: a result whose status is error must have content.
  https://github.com/aws-samples/sample-multi-agent-orchestration-chat-on-agentcore/issues/15
- json-is-an-object: `input` and a result's `json` are objects; other JSON is sent as text.
  https://github.com/sigoden/aichat/issues/1542
- server-tools-answer-in-place: `server_tool_use` and its result are in the same assistant message.
  https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
- reasoning-keeps-its-signature: reasoning is sent back with its signature; reasoning from other
  providers is refused in a history.
  https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ReasoningTextBlock.html
- names-of-documents: the name of a document is required and consists of letters, digits, spaces,
  hyphens and brackets.
  https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html
- bytes-are-base64: values that an SDK accepts as bytes are base64 text in the JSON body.
  https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageSource.html
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
