"""Genkit: the messages, requests and responses of its models, in all of its languages.

- ref-is-optional: a tool request and its response are paired by `ref`, which may be missing or
  empty. Then they pair by name. Responses to several calls of one tool without refs are ambiguous,
  because their order says nothing. So a minted id is sent in a response, and in a history with
  such calls.
- ref-is-not-the-name: neither the tool's name nor its output ever replaces the ref. Genkit for Go
  sent both as the `tool_call_id` of an OpenAI request, which was refused.
- any-order: the responses of one turn come in the order in which the tools finished.
- output-or-content: a response holds any JSON value as `output`, and media as parts under
  `content`; it has no error flag.
- one-field-per-part: the field that a part has is its type; `metadata` stands beside it and may
  hold a signature.
- candidates-are-old: early responses held a list of candidates; now there is one message.
- tools-by-name: a request of the framework itself may name its tools without describing them.
"""

from __future__ import annotations

from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.genkit.blocks import BLOCKS, CAPABILITIES, NAME
from toolwire.wires.genkit.bodies import match_score, read, write
from toolwire.wires.genkit.stream_writer import STREAM

WIRE = Wire(
    NAME,
    "Genkit",
    blocks=all_blocks(BLOCKS),
    read=read,
    write=write,
    match_score=match_score,
    stream=STREAM,
    capabilities=CAPABILITIES,
)
