"""OpenAI Responses.

- two-ids: `id` names the item, `call_id` the call; an item id is never sent as a call id. One is
  made up only in an answer.
- items-not-messages: a turn is several items; the reasoning before a call goes back with it.
- hosted-in-one-item: what the provider ran itself stands in one item, call and result, under an
  item id only.
- search-without-ids: a tool search the provider ran has a null `call_id`; its output follows it.
- local-shell-by-id: `local_shell_call_output` names its call in `id`; servers want `call_id`
  (openai-openapi#532, agents#1855).
- approval-by-item-id: `mcp_approval_request.id` is what the response names.
- tool-messages-are-results: a message of the role `tool`, as chat has it, is read as a result and
  never written.
- calls-may-be-elsewhere: after `previous_response_id` a result's call is not in the body.
- reasoning-stays-home: only encrypted content of this provider is taken back.
- a-file-has-one-name: beside `file_url` or `file_id` a `filename` is refused (rig#1429).
- no-error-flag: a function's result cannot say that it failed.
- answer-echoes-request: a response repeats settings and tools of its request; they are no part of
  the answer.
"""

from __future__ import annotations

from toolwire.conversation.json import JSON
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.families.items.bodies import Items
from toolwire.wires.families.items.content import CONTENT
from toolwire.wires.families.items.item_blocks import ITEMS
from toolwire.wires.families.items.stream_reader import stream

NAME = "openai-responses"
RESPONSES = Items(NAME, ITEMS)


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: agents belong to a wire that extends
    this one.
    """
    sure = RESPONSES.looks(body)
    if sure < 3 or not isinstance(body, dict):
        return sure
    items = body.get("output") if "output" in body else body.get("input")
    listed = items if isinstance(items, list) else []
    marked = any(isinstance(item, dict) and "agent_reference" in item for item in listed)
    return 2 if marked or "agent_reference" in body or "agent" in body else sure


WIRE = Wire(
    NAME,
    "OpenAI Responses",
    all_blocks(CONTENT, ITEMS),
    RESPONSES.read,
    RESPONSES.write,
    match_score,
    stream(RESPONSES),
)
