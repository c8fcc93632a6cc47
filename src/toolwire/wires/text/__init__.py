"""Tools in plain text, for models without tool calling.

The body is that of a chat server without tools. Tools are defined in a marked section of the system
prompt, calls are tagged text in assistant messages, and the results of a turn share one user
message. Calls are read in several dialects. Text of another wire that looks like a call would be
read as one here, so a loss is reported for it.

- several-parts-share-one-string: an edited part is written into its own span; the rest of the
  string stays verbatim.
  https://github.com/NousResearch/Hermes-Function-Calling/blob/main/README.md
- calls-without-ids: ids are in the tags. If a model leaves them out, results pair by name and by
  order; a minted id is not written.
  https://github.com/NousResearch/Hermes-Function-Calling/blob/main/README.md
- broken-tags-are-text: a tag that does not parse stays part of the model's text.
  https://docs.vllm.ai/en/v0.18.2/api/vllm/tool_parsers/hermes_tool_parser/
- invoke: a call may be an XML element `<invoke name="...">` with one element for each parameter.
  https://docs.vllm.ai/en/v0.22.1/api/vllm/tool_parsers/
- json-alone: a message that is nothing but a JSON object with `name` and arguments is a call.
  https://docs.vllm.ai/en/v0.15.0/api/vllm/tool_parsers/llama_tool_parser/
- a-list-after-a-mark: a JSON list of calls may follow a mark such as `[TOOL_CALLS]`.
  https://docs.vllm.ai/en/v0.22.1/api/vllm/tool_parsers/
- pythonic: a message that is a Python list of function calls, `[f(x=1), g()]`, is a list of calls.
  https://docs.vllm.ai/en/v0.22.1/api/vllm/tool_parsers/
- tools-in-a-foreign-prompt: any JSON definitions inside `<tools>` are read, and replaced in place.
  https://github.com/NousResearch/Hermes-Function-Calling/blob/main/README.md
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.text.blocks import CALLS, CONTENT, NAME, RESULT
from toolwire.wires.text.bodies import BODIES, match_score
from toolwire.wires.text.stream_writer import STREAM

_IMAGES = MediaSupport(image=DATA_OR_URL)

WIRE = Wire(
    name=NAME,
    title="Tools in plain text",
    blocks=all_blocks(CONTENT, CALLS, (RESULT,)),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="messages",
    stream=STREAM,
    capabilities=Capabilities(
        refusals=False,
        media={"system": _IMAGES, "user": _IMAGES},
        media_names=frozenset(),
        reasoning_in_history=False,
        reasoning_texts="first",
        usage_fields=frozenset(),
    ),
)
