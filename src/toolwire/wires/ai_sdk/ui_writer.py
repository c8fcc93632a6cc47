"""AI SDK: write a conversation as UI messages.

A result goes into the part of its call, wherever it was; the turns of one run share a message.
Messages that were read from this wire stay verbatim, with edits in place.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.id_map import IdMap
from toolwire.conversation.json import JSON, Object, get, patch, put
from toolwire.conversation.model import Conversation
from toolwire.conversation.part_map import PartSet
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Part,
    Reasoning,
    Result,
    Role,
    Text,
    describe,
)
from toolwire.wires.ai_sdk import approvals
from toolwire.wires.ai_sdk.blocks import (
    NAME,
    report_misplaced,
    write_file,
    write_reasoning,
    write_text,
)
from toolwire.wires.ai_sdk.tool_parts import (
    complete_input,
    is_tool_part,
    read_tool_part,
    reports_invalid_input,
    write_edited_result,
    write_tool_part,
)
from toolwire.wires.ai_sdk.ui_messages import ROLES, STEP, read_message, read_response_message
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.patching import patch_block
from toolwire.wires.engine.specs import Block, list_at, require_object


def write_content(part: Part, context: EncodeContext, role: Role) -> Object | None:
    """Text, media or reasoning as a block; None if a message of the role cannot hold the part.

    A response is the message that a client has after the stream, so its texts are marked as done.
    """
    match part:
        case Text():
            if not part.text:
                return None
            block = write_text(part, context)
        case Media() if role != "system":
            block = write_file(part, context)
            if context.kind == "response" and "filename" in block:
                context.report_loss(part, "a file in a response has no name")
                del block["filename"]
        case Reasoning(hidden=None) if role == "assistant":
            block = write_reasoning(part, context)
        case _:
            report_misplaced(part, f"a message of role {role}", context)
            return None
    if context.kind == "response" and block["type"] != "file":
        block["state"] = "done"
    return block


class UiWriter:
    """Writes the messages of a conversation as UI messages."""

    def __init__(self, conversation: Conversation, context: EncodeContext) -> None:
        self.calls = approvals.CallIndex(conversation)
        self.source = conversation.source.body if context.native else None
        self.read = read_response_message if conversation.kind == "response" else read_message
        self.kind = conversation.kind
        self.context = context
        self.unmapped = EncodeContext(NAME, context.kind, ids=None, names={}, reverse_map=IdMap())
        """The context that writes parts as they were read, with their own ids and names."""
        self.out: list[JSON] = []
        self.run: list[JSON] = []
        """The blocks of the assistant message in progress."""
        self.has_results = False
        """True if results followed the last block of the run: the next block starts a step."""
        self.written_calls: PartSet[Call] = PartSet()
        """Calls of a response that were written in the place of an approval request before them."""
        self.reasoning_count = 0
        self.message_ids = {
            str(get(self.source, (*message.path, "id"))) for message in conversation.messages
        }

    def write(self, messages: tuple[Message, ...]) -> list[JSON]:
        """The UI messages. Messages that were read from one UI message become one again."""
        start = 0
        while start < len(messages):
            end = start + 1
            base = self._source_message(messages[start])
            while (
                base is not None
                and end < len(messages)
                and messages[end].path == messages[start].path
                and self._source_message(messages[end]) is base
            ):
                end += 1
            self._write_group(messages[start:end], base)
            start = end
        self._close_run()
        return self.out

    def _source_message(self, message: Message) -> Object | None:
        """The UI message that a message was read from; None if the message now holds other
        parts."""
        if message.wire != NAME:
            return None
        raw = message.raw
        if isinstance(raw, UnsetType):
            raw = get(self.source, message.path)
        if not isinstance(raw, dict) or not isinstance(raw.get("parts"), list):
            return None
        for part in message.parts:
            block = _source_block(part, message, raw)
            if not isinstance(block, UnsetType) and block != part.raw:
                return None
        return raw

    def _write_group(self, group: tuple[Message, ...], base: Object | None) -> None:
        """Write the messages that were read from the UI message `base`, or one message without a
        `base`."""
        for message in group:
            self._report_results_without_place(message)
        if base is None:
            self._write_new(group[0])
            return
        self._close_run()
        patched = self._patch_message(group, base)
        if not isinstance(patched, UnsetType):
            self.out.append(patched)
            return
        role = ROLES.get(str(base.get("role")), "user")
        blocks: list[JSON] = []
        for message in group:
            written = self._write_blocks(message, role, base)
            if message.role == "user" and role == "assistant" and written:
                blocks.append({**_steering_message(message, base), "parts": written})
            else:
                blocks += written
        if blocks:
            self.out.append({**base, "parts": blocks})

    def _report_results_without_place(self, message: Message) -> None:
        for part in message.parts:
            if not isinstance(part, Result):
                continue
            reason = self.calls.omissions.get(part)
            if reason is not None:
                self.context.report_loss(part, reason)
            elif part not in self.calls.placed:
                self.context.report_loss(part, f"{approvals.NO_CALL}: {describe(part)[:80]}")

    # --- messages of this wire ---

    def _patch_message(self, group: tuple[Message, ...], base: Object) -> JSON | UnsetType:
        """The UI message with edits in place; UNSET if parts were added, removed or moved."""
        path = group[0].path
        original = [part.path for message in self.read(base, path) for part in _content(message)]
        parts = [part for message in group for part in _content(message)]
        if original != [part.path for part in parts]:
            return UNSET
        out: JSON = base
        for part in parts:
            block_path = part.path[len(path) :]
            block = self._patch_block(part, get(out, block_path))
            if isinstance(block, UnsetType):
                return UNSET
            out = put(out, block_path, block)
        return out

    def _patch_block(self, part: Part, block: JSON | UnsetType) -> JSON | UnsetType:
        """A block with the edit of its part; UNSET if the edit changed the type of the part."""
        if isinstance(block, UnsetType):
            return UNSET
        if isinstance(part, Call):
            return self._patch_tool_part(part, block)
        return patch_block(part, self.context, block)

    def _patch_tool_part(self, call: Call, block: JSON) -> JSON | UnsetType:
        spec, result = call.spec, self.calls.results.get(call)
        if not isinstance(spec, Block) or spec.write is None:
            return UNSET
        if not isinstance(block, dict) or not is_tool_part(block):
            return UNSET
        original, *original_results = read_tool_part(block, call.path)
        if self.kind == "response" and reports_invalid_input(block):
            original_results = []
        if self._is_unchanged(call, result, has_result=bool(original_results)):
            return block
        if isinstance(original, Call) and not original.id:
            minted = call.original if isinstance(call.original, Call) else call
            original = replace(original, id=minted.id)  # only an edited id is written
        old = require_object(spec.write(original, self.unmapped))
        new = require_object(spec.write(call, self.context))
        if original_results:
            old |= write_edited_result(original_results[0], self.unmapped)
        else:
            old["state"] = block.get("state")
        if result is not None:
            new |= write_edited_result(result, self.context)
            approved = get(block, ("approval", "approved"))
            if not original_results and "approval" in block and approved is not True:
                self.context.report_loss((*call.path, "approval"), approvals.NOT_GRANTED)
                block = {key: value for key, value in block.items() if key != "approval"}
        else:
            new["state"] = "input-available" if original_results else block.get("state")
        patched = patch(block, old, new)
        return complete_input(patched) if isinstance(patched, dict) else patched

    def _is_unchanged(self, call: Call, result: Result | None, *, has_result: bool) -> bool:
        """True if neither the call of a tool part nor its result was edited or renamed."""
        if (result is not None) != has_result:
            return False
        if result is not None and (result.original is not None or result.path != call.path):
            return False
        return (
            call.original is None
            and self.context.call_id(call) == call.id
            and self.context.name(call.name) == call.name
        )

    # --- other messages ---

    def _write_new(self, message: Message) -> None:
        """Write a message of another wire, or one whose UI message no longer exists."""
        role: Role = "assistant" if message.role == "tool" else message.role
        blocks = self._write_blocks(message, role, None)
        if any(
            isinstance(part, Result) and part not in self.calls.omissions for part in message.parts
        ):
            self.has_results = True
        if role == "assistant":
            # Two assistant messages without a result in between are one turn, so one step.
            same_step = self.run and not self.has_results
            self.run += blocks[1:] if same_step else blocks
            self.has_results = self.has_results and not blocks
        elif blocks:
            self._close_run()
            self.out.append({"id": self._new_id(), "role": role, "parts": blocks})

    def _write_blocks(self, message: Message, role: Role, base: Object | None) -> list[JSON]:
        """The blocks of a message, without results, which are in the parts of their calls."""
        blocks: list[JSON] = []
        has_results = False
        for part in message.parts:
            if isinstance(part, Result):
                if part not in self.calls.omissions and self.context.kind == "response":
                    has_results = has_results or (part.family == "function" and bool(blocks))
                continue
            raw = UNSET if base is None else _source_block(part, message, base)
            if base is not None and raw is base:  # a message of unknown role is one part
                blocks += list_at(NAME, base, ("parts",))
                continue
            block = self._patch_block(part, raw)
            if isinstance(block, UnsetType):
                block = self._write_part(part, role)
            if block is not None:
                blocks += [STEP, block] if has_results and base is None else [block]
                has_results = False
        return [STEP, *blocks] if blocks and message.role == "assistant" else blocks

    def _write_part(self, part: Part, role: Role) -> Object | None:
        """The block of a part of another wire; None if it has none."""
        if isinstance(part, Call) and role == "assistant":
            return self._write_tool_part(part)
        block = write_content(part, self.context, role)
        if block is not None and block["type"] == "reasoning" and self.context.kind == "response":
            block["id"] = f"reasoning-{self.reasoning_count}"  # as in a stream; clients keep it
            self.reasoning_count += 1
        return block

    def _write_tool_part(self, call: Call) -> Object | None:
        """A call with its result and approval; None if the call only requests approval for another
        one, or was written in the place of its request."""
        if call in self.written_calls:
            return None
        is_merged = call in self.calls.merged_requests
        if is_merged or approvals.holds_call(call):
            self.context.report_loss(call, approvals.REQUEST_MERGED)
        if self.context.kind == "response":  # a stream has shown the call with its request
            later_call = self.calls.later_calls.get(call)
            if later_call is not None and later_call not in self.written_calls:
                self.written_calls.add(later_call)
                call, is_merged = later_call, False
        if is_merged:
            return None
        request, result = self.calls.requests.get(call), self.calls.results.get(call)
        if approvals.holds_call(call):
            call, request, result = approvals.call_of_request(call), request or call, None
        block = write_tool_part(call, result, self.context)
        if request is None or "input" not in block:
            return block
        return self._add_approval(block, call, request, result)

    def _add_approval(
        self, block: Object, call: Call, request: Call, result: Result | None
    ) -> Object:
        approved, reason = approvals.read_decision(self.calls.results.get(request))
        approval: Object = {"id": self.context.call_id(request)}
        if approved is None:
            if result is not None:
                self.context.report_loss(request, approvals.NOT_GRANTED)
                return block
            if call.executor == "provider":
                self.context.report_loss(call, approvals.EXECUTOR_UNKNOWN)
            return {**block, "state": "approval-requested", "approval": approval}
        approval["approved"] = approved
        if result is None:
            block["state"] = "approval-responded"
        elif not approved:
            if not result.error:
                self.context.report_loss(request, approvals.NOT_GRANTED)
                return block
            reason = str(block.pop("errorText"))
            block["state"] = "output-denied"
        if reason is not None:
            approval["reason"] = reason
        return {**block, "approval": approval}

    def _new_id(self) -> str:
        message_id = f"msg-{len(self.out)}"
        while message_id in self.message_ids:
            message_id += "-"
        self.message_ids.add(message_id)
        return message_id

    def _close_run(self) -> None:
        if self.run:
            self.out.append({"id": self._new_id(), "role": "assistant", "parts": self.run})
            self.run = []


def _content(message: Message) -> list[Part]:
    """The parts of a message except results, which have no separate blocks."""
    return [part for part in message.parts if not isinstance(part, Result)]


def _source_block(part: Part, message: Message, base: Object) -> JSON | UnsetType:
    """The block of the UI message `base` that a part was read from; UNSET for an added part."""
    depth = len(message.path)
    if isinstance(part.raw, UnsetType) or part.path[:depth] != message.path:
        return UNSET
    return get(base, part.path[depth:])


def _steering_message(message: Message, base: Object) -> Object:
    """The steering block from which a user message within a run was read; a new one if there is
    none."""
    depth = len(message.path)
    paths = {part.path[depth : depth + 2] for part in message.parts if part.path}
    block = get(base, paths.pop()) if len(paths) == 1 else None
    return block if isinstance(block, dict) else {"type": "steering-message"}
