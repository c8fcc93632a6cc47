"""Azure AI Foundry: the Responses wire with the items of its own tools and agents.

- extends-responses: every item of that wire, each with `agent_reference` and `response_id` beside
  it.
- service-runs-them: all tools of its own are run by the service, and answered by an item of their
  own with the same `call_id`.
- output-only: but for `memory_search_call` its own items are refused as input; they are replayed by
  reference.
- preview-in-the-name: some types have `_preview` in their name and will lose it; both spellings are
  read.
- memory-has-no-id: `memory_search_call` as input has no id at all, the only such item.
- results-without-calls: a workflow's action, a request for consent and structured output answer no
  call.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.parts import Part
from toolwire.wires.engine.specs import Block, Form, Id, Wire, all_blocks, blocks, keys
from toolwire.wires.families.items.bodies import Items
from toolwire.wires.families.items.content import CONTENT
from toolwire.wires.families.items.item_blocks import (
    BORROWED,
    ITEMS,
    ask,
    both,
    host,
    ids_of,
    reply,
)
from toolwire.wires.families.items.stream_reader import stream

NAME = "azure-foundry"
ANSWERED: tuple[Form, ...] = ("response",)
_IDS = (Id("call_id"), Id("id", "item"), Id("response_id", "position", required=False))

PAIRED = {
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
"""Tools whose call and output are two items: the stem of their types, and the family."""


def _pairs() -> Iterator[Block]:
    for stem, family in PAIRED.items():
        for kind in (f"{stem}_call", f"{stem}_preview_call"):
            yield ask(
                kind,
                family,
                "provider",
                name=stem,
                named="name",
                text=True,
                ids=_IDS,
                forms=ANSWERED,
            )
            yield reply(f"{kind}_output", family, "provider", ids=_IDS, forms=ANSWERED)


def _read_found(block: Object, path: JsonPath) -> JSON:
    """What memory held, under the name of either version."""
    found = block.get("memories") if block.get("memories") is not None else block.get("results")
    return [] if found is None else found


def _memory(kind: str) -> tuple[Block, Block]:
    """Two rows of one type: with an item id as the service sends it, without any as it takes it."""
    named = host(
        kind,
        "memory-search",
        name="memory_search",
        fields=("search_id",),
        answer="memories",
        reads=_read_found,
    )
    named = replace(named, keys=named.keys | {"results"}, forms=ANSWERED)
    call = ask(
        kind,
        "memory-search",
        "provider",
        name="memory_search",
        fields=("search_id",),
        ids=(),
        forms=("request",),
    )
    bare = both(replace(call, keys=named.keys), field="memories", reads=_read_found)
    read = named.read
    assert read is not None

    def either(block: Object, path: JsonPath, spec: Block) -> Part:
        return read(block, path, spec if ids_of(block)[0] else bare)

    return replace(named, read=either), bare


def _alone(kind: str, family: str, *fields: str) -> Block:
    """A result that answers no call, under the id of its item."""
    if fields == ("output",):
        return reply(kind, family, "provider", ids=BORROWED, forms=ANSWERED)
    return reply(kind, family, "provider", fields=fields, ids=BORROWED, forms=ANSWERED)


_MEMORY = [_memory(kind) for kind in ("memory_search_call", "memory_search_preview_call")]
OWN = blocks(
    *_pairs(),
    *(named for named, _ in _MEMORY),
    _alone(
        "workflow_action",
        "workflow-action",
        "kind",
        "action_id",
        "parent_action_id",
        "previous_action_id",
    ),
    _alone(
        "workflow_action_preview",
        "workflow-action",
        "kind",
        "action_id",
        "parent_action_id",
        "previous_action_id",
    ),
    _alone("oauth_consent_request", "oauth-consent", "consent_link", "server_label"),
    _alone("structured_outputs", "structured-outputs", "output"),
)
FOUNDRY = Items(NAME, {**ITEMS, **OWN})


def match_score(body: JSON) -> int:
    """How sure it is that this is one of its bodies: without a mark of its own it might as well be
    plain Responses."""
    sure = FOUNDRY.looks(body)
    if not sure or not isinstance(body, dict):
        return 0
    items = body.get("output") if "output" in body else body.get("input")
    listed = items if isinstance(items, list) else []
    marked = any(
        isinstance(item, dict) and ("agent_reference" in item or item.get("type") in OWN)
        for item in listed
    )
    return 3 if marked or "agent_reference" in body or "agent" in body else 1


BLOCKS = (*all_blocks(CONTENT, ITEMS, OWN), *(bare for _, bare in _MEMORY))
_EARLY = keys("workflow_action", "workflow_action_preview")
"""What an action says while it lasts comes between its opening and its end."""
WIRE = Wire(
    NAME,
    "Azure AI Foundry",
    BLOCKS,
    FOUNDRY.read,
    FOUNDRY.write,
    match_score,
    stream(FOUNDRY, _EARLY),
)
