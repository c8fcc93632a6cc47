"""OpenAI Responses.

- two-ids-of-a-call: `id` names the item, `call_id` the call; an item id is never sent as a call id.
  New item ids are made only in answers, and where a request requires one.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_function_tool_call.py
- parallel-calls-of-one-tool: a turn is several items; the reasoning before a call is sent back with
  it.
  https://cookbook.openai.com/examples/responses_api/reasoning_items
- hosted-tools: a call that the provider ran and its result are one item, with only an item id. A
  tool search that the provider ran has a null `call_id`; its output is the next item.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_input_item_param.py
- client-tools: `local_shell_call_output` names its call in `id`; servers need `call_id`.
  https://github.com/openai/openai-agents-python/pull/1855
- mcp-tools: the response to an `mcp_approval_request` names its `id`.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_input_item_param.py
- tool-role-message: a message of the role `tool`, as in chat, is read as a result and never
  written.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/easy_input_message_param.py
- tools-in-namespaces: namespace and name of a tool are two fields; a tool choice has no namespace.
  Items in mid-conversation may define further tools.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/namespace_tool_param.py
- calls-are-elsewhere: after `previous_response_id` a result's call is not in the body.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_create_params.py
- reasoning-in-every-form: only encrypted content of this provider is accepted back.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_reasoning_item_param.py
- media-in-every-form: a `filename` next to `file_url` or `file_id` is refused.
  https://github.com/0xPlaygrounds/rig/issues/1429
- results-in-every-form: the result of a function cannot be marked as an error.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_input_item_param.py
- answer-plain: a response repeats settings and tools of its request; they are not part of the
  answer.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response.py
"""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.conversation.json import JSON
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.families.items.bodies import ItemBodies, items_of
from toolwire.wires.families.items.content import CAPABILITIES, CONTENT
from toolwire.wires.families.items.item_types import ITEMS
from toolwire.wires.families.items.stream_reader import item_stream
from toolwire.wires.families.items.tools import WEB_SEARCH

NAME = "openai-responses"
BODIES = ItemBodies(NAME, ITEMS)


def match_score(body: JSON) -> int:
    """How well a body matches this wire. A body with agents belongs to a wire that extends this
    one."""
    score = BODIES.match_score(body)
    if score < 3 or not isinstance(body, dict):
        return score
    if "agent_reference" in body or "agent" in body:
        return 2
    return 2 if any("agent_reference" in item for item in items_of(body)) else score


WIRE = Wire(
    name=NAME,
    title="OpenAI Responses",
    blocks=all_blocks(CONTENT, ITEMS),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="input",
    read_from=BODIES.read_from,
    stream=item_stream(BODIES),
    capabilities=replace(CAPABILITIES, web_search=WEB_SEARCH),
)
