"""Tools in plain text, for models without tool calling.

The body is that of a chat server without tools. Tools are defined in a marked section of the system
prompt, calls are tagged text in assistant messages, and the results of a turn share one user
message. Calls are read in several dialects. Text of another wire that looks like a call would be
read as one here, so a loss is reported for it.

- several-parts-share-one-string: an edited part is written into its own span; the rest of the
  string stays verbatim.
- calls-without-ids: ids are in the tags. Where a model leaves them out, results pair by name and by
  order; a minted id is not written.
- broken-tags-are-text: a tag that does not parse stays part of the model's text.
- tools-in-a-foreign-prompt: any JSON definitions inside `<tools>` are read, and replaced in place.
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
