"""Google ADK: a list of Events, or a session that contains one.

An Event is the user's if its author is `user`, else an agent's. Results are in Events of the agent
whose content has the role `user`. The parts of a content are those of Gemini.

- parallel-calls-of-one-tool: if the model gives a call no id, ADK makes one (`adk-` and a UUID) and
  the response repeats it. Here it is an id like any other: it pairs, and it is sent to every wire
  that has ids. ADK removes it before it calls Gemini, and so does the writer of that wire.
  https://github.com/google/adk-python/blob/main/src/google/adk/flows/llm_flows/functions.py
- snake-case: fields are read in camelCase and in snake_case.
  https://github.com/google/adk-python/blob/main/src/google/adk/events/event.py
- long-running-answers-twice: a call that `longRunningToolIds` names may be answered first with a
  progress note and later with the result, under the same id. The first answer is paired; the later
  ones stay visible.
  https://github.com/google/adk-docs/blob/main/docs/tools-custom/function-tools.md
- run-ends-with-a-call: the agent does not finish a call that `longRunningToolIds` names. In the
  Events of a run such a call is left to the client, even if it has a progress note. Every other
  call of an Event with this field is run by the agent. So the open calls of another wire are named
  there.
  https://github.com/google/adk-python/blob/main/src/google/adk/events/event.py
- confirmation-is-a-call: `adk_request_confirmation` is a call with an id of its own, about another
  call, which it names. An answer of that call in the meantime is not its result. An approval that
  another wire keeps on the call is requested and decided in such calls here.
  https://github.com/google/adk-docs/blob/main/docs/tools-custom/confirmation.md
- partial-events-repeat: an Event with `partial: true` is a fragment that a later Event repeats. It
  counts only if it has a call with a result that is not repeated, as ADK before 1.22 sent it.
  https://github.com/google/adk-docs/blob/main/docs/events/index.md
- session-with-state: an Event's id, invocation, author and time belong to the log and are not
  reported as losses. State, errors and other actions do not concern a model; they stay in the log.
  System prompt, tools and settings belong to the agent; a log does not contain them.
  https://github.com/google/adk-python/blob/main/src/google/adk/sessions/session.py
- run-of-several-turns: a response is what a run returned. Its Events are one answer, and calls that
  have a result in it are done. Calls that another provider ran are written as calls of the agent.
  https://github.com/google/adk-docs/blob/main/docs/runtime/api-server.md

Streams are the Events of a run. There is no end mark: a stream was cut off if a partial Event was
not completed. After a failure the last record is `{"error": ...}`, which is not an Event.

- stream-completed-event-repeats: the texts of a partial Event are emitted at once and skipped when
  the completed Event repeats them. So are calls whose ids the model gave.
  https://github.com/google/adk-python/issues/3974
- stream-hints-have-other-ids: calls of partial Events with ids that ADK made are only remembered,
  because in some versions the completed Event has other ids.
  https://github.com/google/adk-python/issues/4609
- stream-hint-is-all-there-is: a call that is never repeated, as before 1.22, is emitted when its
  result arrives.
  https://github.com/ag-ui-protocol/ag-ui/pull/970
- stream-missing-ids: a call without an id gets a minted one, which is reported. A response without
  an id answers the oldest such call of its name.
  https://github.com/googleapis/python-genai/blob/main/google/genai/types.py
- stream-long-running: calls that `longRunningToolIds` names are for the client; the agent runs the
  others. If an Event does not have the field, its calls wait until their results decide.
  The answer of a call that is left to the client is only a progress note.
  https://github.com/google/adk-python/blob/main/src/google/adk/events/event.py
- stream-parallel-calls-of-one-tool: a result names its call by id.
  https://github.com/google/adk-python/blob/main/src/google/adk/flows/llm_flows/functions.py
- stream-confirmation: a run that continues after an approval begins with results of calls that are
  not in the stream. Each is emitted after a call without arguments, unless the reader has the call.
  https://github.com/google/adk-docs/blob/main/docs/tools-custom/confirmation.md
"""

from __future__ import annotations

from toolwire.wires.adk.bodies import match_score, read, write
from toolwire.wires.adk.events import CAPABILITIES, NAME, PARTS
from toolwire.wires.adk.stream_reader import EventReader
from toolwire.wires.adk.stream_writer import EventWriter
from toolwire.wires.engine.specs import Wire, all_blocks
from toolwire.wires.engine.stream import StreamSpec, data_sse

WIRE = Wire(
    name=NAME,
    title="Google ADK events",
    blocks=all_blocks(PARTS.blocks),
    read=read,
    write=write,
    match_score=match_score,
    stream=StreamSpec(reader=EventReader, writer=EventWriter, frame=data_sse),
    capabilities=CAPABILITIES,
    hosts=True,
)
