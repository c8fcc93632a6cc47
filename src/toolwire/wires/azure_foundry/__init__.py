"""Azure AI Foundry: the Responses wire with the items of its own tools and agents.

- answer-with-calls: all items of that wire, each with `agent_reference` and `response_id`.
  https://learn.microsoft.com/en-us/dotnet/api/azure.ai.extensions.openai.extensionsopenaimodelfactory?view=azure-dotnet
- answer-service-tools: the service runs all of its own tools; their output is another item with the
  same `call_id`.
  https://learn.microsoft.com/en-us/dotnet/api/azure.ai.extensions.openai.extensionsopenaimodelfactory?view=azure-dotnet
- service-tools-in-a-history: except for `memory_search_call` its own items are refused as input;
  they are replayed by reference.
  https://github.com/openai/openai-python/blob/main/src/openai/types/responses/response_input_item_param.py
- answer-other-spellings: some types have `_preview` in their name and will lose it; both spellings
  are read.
  https://learn.microsoft.com/en-ie/dotnet/api/azure.ai.agentserver.contracts.generated.openai.tooltype.fabricdataagentpreview?view=azure-dotnet-preview
- memory-without-ids: `memory_search_call` as input has no id at all, the only such item.
  https://learn.microsoft.com/en-us/dotnet/api/azure.ai.extensions.openai.extensionsopenaimodelfactory.memorysearchtoolcall?view=azure-dotnet
- answer-workflow: a workflow action, a consent request and structured output answer no call.
  https://learn.microsoft.com/en-us/dotnet/api/azure.ai.extensions.openai.agentresponseitemkind.workflowaction?view=azure-dotnet
"""

from __future__ import annotations

from toolwire.conversation.json import JSON
from toolwire.wires.azure_foundry.blocks import MEMORY_WITHOUT_ID, SERVICE_ITEMS, WORKFLOW_ACTIONS
from toolwire.wires.engine.specs import Wire, all_blocks, keys
from toolwire.wires.families.items.bodies import ItemBodies, items_of
from toolwire.wires.families.items.content import CAPABILITIES, CONTENT
from toolwire.wires.families.items.item_types import ITEMS
from toolwire.wires.families.items.stream_reader import item_stream

NAME = "azure-foundry"
BODIES = ItemBodies(NAME, {**ITEMS, **SERVICE_ITEMS})


def match_score(body: JSON) -> int:
    """How well a body matches this wire: without a mark of this wire, it may be plain Responses."""
    if not BODIES.match_score(body) or not isinstance(body, dict):
        return 0
    if "agent_reference" in body or "agent" in body:
        return 3
    items = items_of(body)
    marked = any("agent_reference" in item or item.get("type") in SERVICE_ITEMS for item in items)
    return 3 if marked else 1


WIRE = Wire(
    name=NAME,
    title="Azure AI Foundry",
    blocks=all_blocks(CONTENT, ITEMS, SERVICE_ITEMS, MEMORY_WITHOUT_ID),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="input",
    read_from=BODIES.read_from,
    # An action is complete when it is added; its output follows before its end.
    stream=item_stream(BODIES, immediate=keys(*WORKFLOW_ACTIONS)),
    capabilities=CAPABILITIES,
)
