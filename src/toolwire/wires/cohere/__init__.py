"""Cohere Chat, version 2.

- parallel-calls-with-a-plan: `tool_plan` explains the calls of a message; it is read as reasoning
  and goes back as the plan.
  https://docs.cohere.com/docs/tool-use-overview
- documents-are-results: a tool message has text or documents; a single document without an id is
  a JSON object.
  https://docs.cohere.com/reference/chat
- choice-is-required-or-none: `tool_choice` is `REQUIRED` or `NONE`; its absence means auto, and no
  tool can be named.
  https://docs.cohere.com/reference/chat
- settings-and-strict-tools: `strict_tools` applies to every tool, or to none.
  https://docs.cohere.com/reference/chat
- schema-required: a tool definition must have `parameters`.
  https://docs.cohere.com/reference/chat
- citations-point-at-results: `citations` name documents by call id; no other wire has them.
  https://docs.cohere.com/docs/tool-use-citations
"""

from __future__ import annotations

from toolwire.wires.cohere.blocks import CALLS, CONTENT, NAME, RESULTS
from toolwire.wires.cohere.bodies import BODIES, match_score
from toolwire.wires.cohere.stream import STREAM
from toolwire.wires.engine.capabilities import DATA_OR_URL, Capabilities, MediaSupport
from toolwire.wires.engine.specs import Wire, all_blocks

WIRE = Wire(
    name=NAME,
    title="Cohere Chat v2",
    blocks=all_blocks(CONTENT, CALLS, RESULTS),
    read=BODIES.read,
    write=BODIES.write,
    match_score=match_score,
    messages_field="messages",
    stream=STREAM,
    capabilities=Capabilities(
        refusals=False,
        media={
            "user": MediaSupport(image=DATA_OR_URL),
            "result": MediaSupport(file=frozenset({"text"})),
        },
        media_names=frozenset({"file"}),
        error_flag=False,
        result_media="after",
        text_after_calls=False,
        candidates=False,
        choice_names="none",
        format_fields=frozenset(),
        usage_fields=frozenset({"cached"}),
    ),
)
