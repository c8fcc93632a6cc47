"""Items of the tools that the Azure AI Foundry service runs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Part
from toolwire.wires.engine.specs import Block, Form, Id, blocks, keys
from toolwire.wires.families.items.item_outputs import OUTPUT, OutputForm, in_field, in_fields
from toolwire.wires.families.items.item_specs import (
    ONLY_ITEM_ID,
    call_item,
    provider_item,
    read_ids,
    result_item,
)

_RESPONSE_ONLY: tuple[Form, ...] = ("response",)
_IDS = (Id("call_id"), Id("id", "item"), Id("response_id", "position", required=False))

PAIRED_TOOLS = {
    "a2a": "a2a",
    "azure_ai_search": "azure-ai-search",
    "azure_function": "azure-function",
    "bing_custom_search": "bing-custom-search",
    "bing_grounding": "bing-grounding",
    "browser_automation": "browser-automation",
    "fabric_dataagent": "fabric-data-agent",
    "openapi": "openapi",
    "sharepoint_grounding": "sharepoint-grounding",
}
"""Tools whose call and output are two items: the common part of their types, and the family."""
WORKFLOW_ACTIONS = ("workflow_action", "workflow_action_preview")


def _call_and_output_items() -> Iterator[Block]:
    for stem, family in PAIRED_TOOLS.items():
        for kind in (f"{stem}_call", f"{stem}_preview_call"):
            yield call_item(
                kind,
                family,
                "provider",
                name=stem,
                name_field="name",
                as_text=True,
                ids=_IDS,
                forms=_RESPONSE_ONLY,
            )
            yield result_item(f"{kind}_output", family, "provider", ids=_IDS, forms=_RESPONSE_ONLY)


def _read_memories(block: Object, path: JsonPath) -> JSON:
    """The memories that were found, from the field of either version."""
    found = block.get("memories")
    found = block.get("results") if found is None else found
    return [] if found is None else found


def _memory_item(kind: str, form: Form, *ids: Id) -> Block:
    return provider_item(
        kind,
        "memory-search",
        name="memory_search",
        arguments=("search_id",),
        output=OutputForm(_read_memories, in_field("memories").write, ("memories",)),
        ids=ids,
        extra=keys("results"),
        forms=(form,),
    )


def _memory_items(kind: str) -> tuple[Block, Block]:
    """Two specs of one type: with an item id as in responses, and without an id as in requests."""
    with_id, without_id = (
        _memory_item(kind, "response", *ONLY_ITEM_ID),
        _memory_item(kind, "request"),
    )
    read_call = with_id.read
    assert read_call is not None

    def read(block: Object, path: JsonPath, spec: Block) -> Part:
        return read_call(block, path, spec if read_ids(block)[0] else without_id)

    return replace(with_id, read=read), without_id


def _result_without_call(kind: str, family: str, output: OutputForm = OUTPUT) -> Block:
    """A result without a call, under its item id."""
    return result_item(
        kind, family, "provider", output=output, ids=ONLY_ITEM_ID, forms=_RESPONSE_ONLY
    )


_MEMORY = [_memory_items(kind) for kind in ("memory_search_call", "memory_search_preview_call")]
_ACTION = in_fields("kind", "action_id", "parent_action_id", "previous_action_id")
SERVICE_ITEMS = blocks(
    *_call_and_output_items(),
    *(with_id for with_id, _ in _MEMORY),
    *(_result_without_call(kind, "workflow-action", _ACTION) for kind in WORKFLOW_ACTIONS),
    _result_without_call(
        "oauth_consent_request", "oauth-consent", in_fields("consent_link", "server_label")
    ),
    _result_without_call("structured_outputs", "structured-outputs"),
)
MEMORY_WITHOUT_ID = [without_id for _, without_id in _MEMORY]
