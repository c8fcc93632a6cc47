"""Open eXecution Protocol 1.0: one call or its result, or a list of tools.

- enveloped-request: the same object is alone, or under `request` and `result` next to `$schema`;
  both are read.
  https://github.com/OpenExecProtocol/Specification/blob/main/spec/http/1.0/openapi.json
- two-spellings-of-input: the text of the specification has `inputs`; its schema and all clients
  have `input`.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/schemas/call-tool-request/page.mdx
- id-is-optional: a request may leave `call_id` out; the server then makes one and returns it. It is
  an idempotency key, so a minted id is never sent with a request: another conversation could have
  the same one.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/schemas/call-tool-request/page.mdx
- developer-message-is-private: it must not reach a model, so it is not part of a result's output.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/schemas/errors/page.mdx
- refusals-have-no-id: a call that was not run (400, 401, 422) is answered by a message without a
  `call_id`.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/schemas/errors/page.mdx
- bare-request: the id of a tool is `Kit.Tool@1.2.3`; a name without a kit gets one, and the id map
  removes it again.
  https://github.com/OpenExecProtocol/Specification/blob/main/spec/http/1.0/openapi.json
- exchange-of-parallel-calls: a body is one call or one result. A list of bodies is a recorded log.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/protocol/call-tool/page.mdx
- exchange-in-one-object: a call and its result in one object are such a log, too.
  https://github.com/OpenExecProtocol/docs/blob/main/app/spec-1.0/protocol/call-tool/page.mdx
"""

from __future__ import annotations

from toolwire.wires.engine.capabilities import Capabilities
from toolwire.wires.engine.specs import Wire
from toolwire.wires.oxp.blocks import CALL, ERROR, NAME, REFUSAL, VALUE
from toolwire.wires.oxp.bodies import match_score, read, write

WIRE = Wire(
    name=NAME,
    title="Open eXecution Protocol",
    blocks=(CALL, VALUE, ERROR, REFUSAL),
    read=read,
    write=write,
    match_score=match_score,
    # A body holds one part, and only the writer knows which one. So the writer reports what the
    # body cannot hold of that part: lowering would also report the content of dropped parts.
    capabilities=Capabilities(
        read_by_model=False,
        reasoning_in_history=False,
        reasoning_in_answers=False,
        messages_in_answers=True,
        tools_in_answers=True,
        strict_tools=False,
    ),
)
