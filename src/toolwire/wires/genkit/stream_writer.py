"""Write the events of a Genkit HTTP flow: `{"message": chunk}`, and at the end the response.

The response repeats all messages, so their blocks are kept.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from toolwire.conversation.json import JSON, Object
from toolwire.conversation.parts import Role
from toolwire.streaming.events import Chunk, Finish, MessageStart, StreamError
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.stream import StreamSpec, data_sse
from toolwire.wires.families.turns.stream_writer import TurnStreamWriter
from toolwire.wires.genkit.blocks import PART_WRITERS
from toolwire.wires.genkit.bodies import MESSAGES, write
from toolwire.wires.genkit.stream_reader import GenkitReader


class _KeptMessage(Struct, frozen=True, eq=False):
    role: Role
    blocks: list[tuple[Object, list[str]]]
    """Each block with the texts that it grew by."""

    def write(self) -> Object:
        """The whole message."""
        return MESSAGES.create(self.role, [_write_block(*kept) for kept in self.blocks])


def _write_block(block: Object, more_texts: list[str]) -> Object:
    if not more_texts:
        return block
    field, text = next(iter(block.items()))
    return {**block, field: f"{text}{''.join(more_texts)}"}


class GenkitWriter(TurnStreamWriter):
    """Writes one stream of Genkit."""

    part_writers = PART_WRITERS
    open_calls_come_last = True  # the response holds the last message, and clients run its calls

    def __init__(self, context: EncodeContext, version: int | None = None) -> None:
        super().__init__(context, version)
        context.minted_ids_sent = True
        self.index = 0
        self.messages: list[_KeptMessage] = [_KeptMessage("assistant", [])]

    def begin(self, event: MessageStart) -> list[Chunk]:
        super().begin(event)
        self.context.seed = ""  # responses have no id here, so readers mint call ids without one
        return []

    def block_type(self, block: Object) -> str:
        return next(iter(block))

    def text_block(self, block_type: str, text: str) -> Object:
        return {block_type: text}

    def create_chunk(self, blocks: list[JSON]) -> Chunk:
        role = MESSAGES.role_to_wire[self.role]
        return {"message": {"role": role, "index": self.index, "content": blocks}}

    def start_message(self, role: Role) -> None:
        super().start_message(role)
        self.index += 1
        self.messages.append(_KeptMessage(role, []))

    def keep_block(self, block: Object) -> Callable[[str], object]:
        more_texts: list[str] = []
        self.messages[-1].blocks.append((block, more_texts))
        return more_texts.append

    def finish(self, event: Finish) -> list[Chunk]:
        self.stop = "stop" if event.stop == "tool" else event.stop
        return []

    def close(self) -> list[Chunk]:
        response = self.write_empty_body(write, self.stop)
        if self.role != "assistant":
            self.start_message("assistant")
        earlier: list[JSON] = [message.write() for message in self.messages]
        response["message"] = earlier.pop()
        if earlier:
            response["request"] = {"messages": earlier}
        return [{"result": response}]

    def error(self, event: StreamError) -> list[Chunk]:
        status = event.code if event.code is not None and event.code.isupper() else "INTERNAL"
        return [{"error": {"status": status, "message": event.message}}]


STREAM = StreamSpec(reader=GenkitReader, writer=GenkitWriter, frame=data_sse)
