"""Gemini Interactions.

- parallel-calls-of-one-tool: a turn is several steps, in one flat list. A call has an `id`, and its
  result names it in `call_id`; both are required.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/functionresultstep.py
- input-in-every-form: the input is a text, a content block, a list of them, or a list of steps. It
  stays in its form as long as it is all of the history.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/interactionsinput.py
- results-in-every-form: a result is text, an object or content blocks, and has an error flag. Any
  other JSON is sent as text.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/functionresultstep.py
- thoughts-and-signatures: a thought is a step, with a summary that may be missing and a signature
  that has to be sent back. Steps of functions have no signature.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/thoughtstep.py
- server-tools: call and result of a tool that the provider runs are two steps, most of them with a
  signature.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/googlesearchcallstep.py
- calls-are-elsewhere: after `previous_interaction_id` a result's call is not in the body.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/interaction.py
- answer-with-calls: the status says why the model stopped: `requires_action` for a call of the
  client's tool.
  https://github.com/googleapis/python-genai/blob/main/google/genai/_gaos/types/interactions/interaction.py
"""

from __future__ import annotations

from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.gemini_interactions.bodies import match_score, read, write
from toolwire.wires.gemini_interactions.content import CAPABILITIES, CONTENT, NAME
from toolwire.wires.gemini_interactions.steps import STEPS
from toolwire.wires.gemini_interactions.stream import STREAM

WIRE = Wire(
    name=NAME,
    title="Gemini Interactions",
    blocks=all_blocks(CONTENT, STEPS),
    read=read,
    write=write,
    match_score=match_score,
    messages_field="input",
    stream=STREAM,
    capabilities=CAPABILITIES,
)
