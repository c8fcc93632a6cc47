"""AI SDK: a conversation written as UI messages.

A result goes into the part of its call, wherever it stood; the turns of one run share a message.
What this wire sent goes back as it came, with the edits where they stand.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from toolwire.conversation.ids import IdMap
from toolwire.conversation.json import JSON, Object, get, patch, put
from toolwire.conversation.lazy_json import LazyJson
from toolwire.conversation.model import Conversation
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
from toolwire.wires.ai_sdk.result_content import NAME
from toolwire.wires.ai_sdk.ui_messages import (
    ROLES,
    STEP,
    UNREADABLE_OUTPUT,
    is_tool,
    read_message,
    read_result,
    read_run,
    read_tool,
    said,
    unread,
    whole,
    write_file,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.specs import Block, patch_block, require_object


def write_call(call: Call, result: Result | None, context: EncodeContext) -> Object:
    """A call of another wire, with its result, as a tool part."""
    out: Object = {
        "type": f"tool-{context.name(call.name)}",
        "toolCallId": context.call_id(call),
        "state": "input-available",
    }
    args = (
        LazyJson(context.arguments_text(call))
        if context.reverse_map.forms and call.args.text
        else call.args
    )
    if args.broken and call.family != "custom" and (result is None or context.is_error(result)):
        # Unfinished input has a field of its own, but only where there is no output for it.
        given: Object = {"state": "input-streaming", "rawInput": args.text}
        if context.kind == "response":  # nothing more will come, and whoever reads it must not wait
            given = {"state": "output-error", "rawInput": args.text, "errorText": UNREADABLE_OUTPUT}
    else:
        value = args.value if call.family != "custom" else None
        given = {"input": context.arguments_object(call) if value is None else value}
    if is_hosted(call):
        given["providerExecuted"] = True
    return {**out, **given, **(said(result, context) if result is not None else {})}


ASKED = "it is told as the approval of the call that it asks leave for"
VERDICT = "it is told in the approval of the call that leave was asked for"
NOTE = "a note in place of a result; here the call waits for leave"
EARLY = "a note in place of a result, which came later"
WAITS = "here it waits for leave; nothing says where it will run"
_YES = ("approved", "confirmed")
"""The words under which wires say that leave was given."""


def stands_in(call: Call) -> bool:
    """Whether a call that asks leave is also all that is said of the call it is about: its name and
    arguments are that one's."""
    return call.approval_for is not None and call.family == "tool-approval"


def stood_in(call: Call) -> Call:
    """The call that such a one is about."""
    return replace(call, id=call.approval_for or call.id, approval_for=None, family="function")


def said_of(verdict: Result | None) -> tuple[bool | None, str | None]:
    """Whether leave was given, and why."""
    said = verdict.output if verdict is not None and isinstance(verdict.output, dict) else {}
    given = next((said[key] for key in _YES if isinstance(said.get(key), bool)), None)
    reason = said.get("reason")
    return given if isinstance(given, bool) else None, reason if isinstance(reason, str) else None


def is_hosted(part: Call | Result) -> bool:
    """Whether the model's provider ran it. A function that is answered in an answer ran on the
    server, as tools here do."""
    return part.executor == "provider" and part.family != "function"


def write_said(part: Part, context: EncodeContext, role: Role) -> JSON:
    """Text, media or reasoning of another wire; None if it cannot stand in a message of
    this role.
    """
    match part:
        case Text():
            if part.refusal:
                context.report_loss(part, "a refusal is sent as plain text")
            return _ended({"type": "text", "text": part.text}, context) if part.text else None
        case Media() if role != "system":
            block = write_file(part, context)
            if context.kind == "response" and "filename" in block:
                context.report_loss(part, "a file in an answer has no name here")
                del block["filename"]
            return _ended(block, context) if block["type"] == "text" else block
        case Reasoning(hidden=None) if role == "assistant":
            return _ended({"type": "reasoning", "text": part.text}, context)
    context.report_loss(
        part, f"a message of the {role} cannot hold this here: {describe(part)[:80]}"
    )
    return None


def _ended(block: Object, context: EncodeContext) -> Object:
    """An answer is what a client has when the stream of it is over: its texts say so."""
    return {**block, "state": "done"} if context.kind == "response" else block


def thought(n: int) -> str:
    """The id of the nth reasoning of an answer, which newer clients keep."""
    return f"reasoning-{n}"


class History:
    """A conversation as UI messages: results go to their calls, turns of one run share a
    message.
    """

    def __init__(self, conversation: Conversation, context: EncodeContext) -> None:
        self.answers: dict[int, Result] = {}
        here = {
            part.path: part
            for part in conversation.calls()
            if isinstance(part.spec, Block) and part.spec.answer is not None
        }
        for pair in conversation.pairs():
            if pair.result is not None:
                spec = pair.result.spec
                # A result that still stands in the part of a call is that call's, whatever the ids
                # say.
                own = (
                    here.get(pair.result.path)
                    if isinstance(spec, Block) and spec.read is read_result
                    else None
                )
                call = own or pair.call
                if call is not None:
                    self.answers[id(call)] = pair.result
        self.asks: dict[int, Call] = {}
        """The calls that wait for leave, by identity, each with the one that asks for it."""
        self.asking: set[int] = set()
        """Those that ask."""
        self.dropped: dict[int, str] = {}
        """Results that have no place of their own here, and why."""
        self._approvals(conversation)
        self.paired = {id(result) for result in self.answers.values()}
        self.source = conversation.source.body if conversation.wire == NAME else None
        self.kind = conversation.kind
        self.context = context
        self.plain = EncodeContext(NAME, context.kind, ids=None, names={}, home=IdMap())
        self.out: list[JSON] = []
        self.run: list[JSON] = []
        self.answered = False
        self.thoughts = 0
        self.taken = {
            str(get(self.source, (*message.path, "id"))) for message in conversation.messages
        }

    def _approvals(self, conversation: Conversation) -> None:
        """Find out which calls ask leave for which, and which results are none."""
        calls = conversation.calls()
        newest: dict[str, Call] = {}
        for call in calls:
            about = newest.get(call.approval_for) if call.approval_for else None
            if call.approval_for and about is None:
                about = next(
                    (
                        one
                        for one in calls
                        if one.id == call.approval_for and one.approval_for is None
                    ),
                    None,
                )
            if about is not None:
                self.asks[id(about)] = call
                self.asking.add(id(call))
            if about is not None or stands_in(call):
                verdict = self.answers.get(id(call))
                self.dropped |= {} if verdict is None else {id(verdict): VERDICT}
            newest[call.id] = call
        early = {key: result for key, result in self.answers.items() if result.preliminary}
        for key, result in early.items():
            if key in self.asks:
                self.dropped[id(result)] = NOTE
                del self.answers[key]
        for pair in conversation.pairs() if early else ():
            call_of = (
                newest.get(pair.result.call_id)
                if pair.call is None and pair.result is not None
                else None
            )
            if call_of is not None and pair.result is not None and id(call_of) in early:
                self.dropped.setdefault(id(early[id(call_of)]), EARLY)
                self.answers[id(call_of)] = pair.result

    def write(self, messages: tuple[Message, ...]) -> list[JSON]:
        """The list of messages."""
        i = 0
        while i < len(messages):
            n = i + 1
            base = self._base(messages[i])
            while (
                base is not None
                and n < len(messages)
                and self._base(messages[n]) is base
                and messages[n].path == messages[i].path
            ):
                n += 1
            self._group(messages[i:n], base)
            i = n
        self._close()
        return self.out

    def _base(self, message: Message) -> Object | None:
        """The UI message that a message of this wire was read from, if all its parts still stand
        there."""
        if message.wire != NAME:
            return None
        raw = (
            message.raw
            if not isinstance(message.raw, UnsetType)
            else get(self.source, message.path)
        )
        if not isinstance(raw, dict) or not isinstance(raw.get("parts"), list):
            return None
        skip = len(message.path)
        here = all(
            get(raw, part.path[skip:]) == part.raw
            for part in message.parts
            if not isinstance(part.raw, UnsetType)
        )
        return raw if here else None

    def _group(self, group: tuple[Message, ...], base: Object | None) -> None:
        for part in (part for message in group for part in message.parts):
            if id(part) in self.dropped:
                self.context.report_loss(part, self.dropped[id(part)])
            elif isinstance(part, Result) and id(part) not in self.paired:
                self.context.report_loss(
                    part,
                    "a result has its place in the part of its call, which is not here:"
                    f" {describe(part)[:80]}",
                )
        if base is None:
            self._turn(group[0])
            return
        self._close()
        kept = self._kept(group, base)
        if not isinstance(kept, UnsetType):
            self.out.append(kept)
            return
        role = ROLES.get(str(base.get("role")), "user")
        blocks = [block for message in group for block in self._blocks(message, role, base)]
        if blocks:
            self.out.append({**base, "parts": blocks})

    def _kept(self, group: tuple[Message, ...], base: Object) -> JSON | UnsetType:
        """The message as it came, with edits where they stand and results put into their calls."""
        path = group[0].path
        read = read_run if self.kind == "response" else read_message
        before = [
            part
            for message in read(base, path)
            for part in message.parts
            if not isinstance(part, Result)
        ]
        now = [part for message in group for part in message.parts if not isinstance(part, Result)]
        if [part.path for part in before] != [part.path for part in now]:
            return UNSET
        out: JSON = base
        for part in now:
            where = part.path[len(path) :]
            block = self._block(part, get(out, where))
            if isinstance(block, UnsetType):
                return UNSET
            out = put(out, where, block)
        return out

    def _block(self, part: Part, now: JSON | UnsetType) -> JSON | UnsetType:
        """A block of this wire as it is now; UNSET if an edit made something else of it."""
        if isinstance(now, UnsetType):
            return UNSET
        if not isinstance(part, Call):
            return patch_block(part, self.context, now)
        spec, result = part.spec, self.answers.get(id(part))
        if (
            not isinstance(spec, Block)
            or spec.write is None
            or not isinstance(now, dict)
            or not is_tool(now)
        ):
            return UNSET
        was, *had = read_tool(now, part.path)
        if self.kind == "response" and unread(now):
            had = []
        same = (
            result is None
            if not had
            else result is not None and result.original is None and result.path == part.path
        )
        if (
            same
            and part.original is None
            and (self.context.call_id(part), self.context.name(part.name)) == (part.id, part.name)
        ):
            return now
        if isinstance(was, Call) and not was.id:
            was = replace(was, id=part.id)  # an id that was made here is not sent back
        new = {
            **require_object(spec.write(part, self.context)),
            **(_answer(result, self.context) if result is not None else {}),
        }
        if result is None:
            new["state"] = "input-available" if had else now.get("state")
        elif not had and "approval" in now and get(now, ("approval", "approved")) is not True:
            self.context.report_loss(
                (*part.path, "approval"),
                "an approval that was not given cannot stand beside a result",
            )
            now = {key: value for key, value in now.items() if key != "approval"}
        old = {
            **require_object(spec.write(was, self.plain)),
            **(_answer(had[0], self.plain) if had else {"state": now.get("state")}),
        }
        made = patch(now, old, new)
        return whole(made) if isinstance(made, dict) else made

    def _turn(self, message: Message) -> None:
        """A message of another wire, or one that was made anew."""
        blocks = self._blocks(
            message, "assistant" if message.role == "tool" else message.role, None
        )
        if any(isinstance(part, Result) and id(part) not in self.dropped for part in message.parts):
            self.answered = True
        if message.role in ("assistant", "tool"):
            # Two messages of the assistant with no result between them are one turn, so one step.
            again = self.run and not self.answered
            self.run += blocks[1:] if again else blocks
            self.answered = self.answered and not blocks
        elif blocks:
            self._close()
            self.out.append({"id": self._id(), "role": message.role, "parts": blocks})

    def _blocks(self, message: Message, role: Role, base: Object | None) -> list[JSON]:
        blocks: list[JSON] = []
        answered = False
        for part in message.parts:
            if isinstance(part, Result):
                if id(part) in self.dropped:
                    continue
                answered = self.context.kind == "response" and (
                    answered or (part.family == "function" and bool(blocks))
                )
                continue
            if message.role == "user" and role == "assistant":
                self.context.report_loss(
                    part, "a user's words in the middle of a run that was changed"
                )
                continue
            raw = get(base, part.path[len(message.path) :]) if base is not None else UNSET
            block = self._block(part, raw) if not isinstance(raw, UnsetType) else UNSET
            if isinstance(block, UnsetType):
                block = self._foreign(part, role)
            if block is not None:
                blocks += [STEP, block] if answered and base is None else [block]
                answered = False
        return [STEP, *blocks] if blocks and message.role == "assistant" else blocks

    def _foreign(self, part: Part, role: Role) -> JSON:
        """A part of another wire; None if it cannot stand in a message of this role."""
        if isinstance(part, Call) and role == "assistant":
            return self._tool(part)
        block = write_said(part, self.context, role)
        if (
            isinstance(block, dict)
            and block["type"] == "reasoning"
            and self.context.kind == "response"
        ):
            block["id"] = thought(self.thoughts)
            self.thoughts += 1
        return block

    def _tool(self, call: Call) -> JSON:
        """A call with its result and its approval; None if it is itself the question for one."""
        asking, result = self.asks.get(id(call)), self.answers.get(id(call))
        if id(call) in self.asking or stands_in(call):
            self.context.report_loss(call, ASKED)
            if id(call) in self.asking:
                return None
            call, asking, result = stood_in(call), call, None
        block = write_call(call, result, self.context)
        return (
            block
            if asking is None or "input" not in block
            else self._approved(block, call, asking, result)
        )

    def _approved(self, block: Object, call: Call, asking: Call, result: Result | None) -> Object:
        verdict = self.answers.get(id(asking))
        given, reason = said_of(verdict)
        approval: Object = {"id": self.context.call_id(asking)}
        if given is None:
            if result is not None:
                self.context.report_loss(
                    asking, "an approval that was not given cannot stand beside a result"
                )
                return block
            if call.executor == "provider":
                self.context.report_loss(call, WAITS)
            return {**block, "state": "approval-requested", "approval": approval}
        approval["approved"] = given
        if given is False and result is not None:
            if not result.error:
                self.context.report_loss(
                    asking, "leave that was refused cannot stand beside a result"
                )
                return block
            reason = str(block.pop("errorText"))
            block["state"] = "output-denied"
        approval |= {} if reason is None else {"reason": reason}
        return {
            **block,
            **({} if result is not None else {"state": "approval-responded"}),
            "approval": approval,
        }

    def _id(self) -> str:
        made = f"msg-{len(self.out)}"
        while made in self.taken:
            made += "-"
        self.taken.add(made)
        return made

    def _close(self) -> None:
        if self.run:
            self.out.append({"id": self._id(), "role": "assistant", "parts": self.run})
            self.run = []


def _answer(result: Part, context: EncodeContext) -> Object:
    """The result's fields: by its own row if a tool part of this wire held it."""
    assert isinstance(result, Result)
    spec = result.spec
    if isinstance(spec, Block) and spec.read is read_result and spec.write is not None:
        written = spec.write(result, context)
        assert isinstance(written, dict)
        return {key: value for key, value in written.items() if key != "toolCallId"}
    return said(result, context)
