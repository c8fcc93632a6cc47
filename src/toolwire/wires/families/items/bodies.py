"""The item shape: a history is one flat list of messages, calls, results and thoughts, each an item
of its own.

Items are gathered into turns for the other wires: what the model said and called in one go is one
message, the client's results after it another. A turn has no JSON of its own, so its parts keep
theirs. Several wires speak this shape with different tables. Knows no wire by name; an `Items`
holds a wire's table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.ids import NAMESPACE_SEPARATOR, assign_ids
from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import BodySource, Choice, Conversation, Kind
from toolwire.conversation.parts import (
    Call,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Role,
    Source,
    Text,
)
from toolwire.wires.engine.encode_context import EncodeContext
from toolwire.wires.engine.settings import read_settings, write_settings
from toolwire.wires.engine.specs import (
    OPAQUE,
    UNREADABLE,
    Block,
    answer_messages,
    keys,
    list_at,
    opaque,
    raise_unexpected,
)
from toolwire.wires.families.items.content import PLAIN, inside, read_content
from toolwire.wires.families.items.history import Writer
from toolwire.wires.families.items.item_blocks import LOOSE, PENDING, TOLD
from toolwire.wires.families.items.namespaces import alone, parted
from toolwire.wires.families.items.settings import (
    ADDED,
    ECHO,
    REQUEST,
    RESPONSE,
    Added,
    added,
    meant,
    read_added,
    read_offers,
    read_stop,
    write_choice,
    write_stop,
    write_tools,
)

ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
MESSAGE = Block("message", Message, keys=keys("type", "role", "content", "status", "id"))
EMPTY = Block(
    "message",
    Text,
    write=lambda part, context: {
        "content": [{"type": "output_text", "text": part.text}] if part.text else []
    },
)
"""A message item without content: its place is kept by an empty text."""


class Seen:
    """The calls so far, by id and by item: what a result without either leans on."""

    __slots__ = ("by_id", "by_item", "extra", "open", "within")

    def __init__(self) -> None:
        self.by_id: dict[str, Call] = {}
        self.by_item: dict[str, Call] = {}
        self.open: list[Call] = []
        self.within: dict[str, set[str]] = {}
        """What the tools in namespaces are known by, by their names in them."""
        self.extra: list[JsonPath] = []
        """What items say beyond their parts, and no other wire can."""

    def call(self, call: Call) -> None:
        self.by_id[call.id] = call
        if call.item is not None:
            self.by_item[call.item] = call
        if NAMESPACE_SEPARATOR in call.name and parted(call.name)[0]:
            self.within.setdefault(alone(parted(call.name)[1]), set()).add(call.name)
        if call.origin == "item" and call.family == "tool-search":
            self.open.append(call)

    def named(self, result: Result) -> Result:
        """The result with the name of its call, where it only lacks the namespace."""
        among = self.within.get(result.name or "", ())
        call = self.by_id.get(result.call_id)
        name = (
            call.name
            if call is not None
            else next(iter(among))
            if len(among) == 1 and not result.call_id
            else None
        )
        return replace(result, name=name) if name in among else result

    def result(self, result: Result) -> Result:
        """The result with the id and executor of its call, where it has none of its own."""
        named = self.by_id.get(result.call_id)
        if named is None and result.origin == "item":
            named = self.by_item.get(result.call_id)
        elif (
            named is None
            and not result.call_id
            and len(self.open) == 1
            and self.open[0].family == result.family
        ):
            # The provider answers its own search in place; neither item names the other.
            named = self.open.pop()
        if named is None:
            return result
        origin = result.origin if result.origin != "minted" else named.origin
        return replace(result, call_id=named.id, executor=named.executor, origin=origin)


class Items(Struct, frozen=True, eq=False):
    """The table of one wire of this shape, and how its bodies are read and written."""

    name: str
    rows: Mapping[str, Block]

    # --- items, read ---

    def read_items(
        self, items: list[JSON], key: str, seen: Seen
    ) -> Iterator[tuple[Role | None, tuple[Part, ...], Object]]:
        """Who speaks in each item, and its parts; nobody, if the item is not known, and no parts,
        if it only offers tools."""
        for i, item in enumerate(items):
            path: JsonPath = (key, i)
            if not isinstance(item, dict):
                raise_unexpected(self.name, path, "an object", item)
            kind = item.get("type")
            if kind == ADDED.name and key == "input" and added(item) is not None:
                seen.extra += [
                    (*path, name)
                    for name, value in item.items()
                    if name not in ADDED.keys and value is not None
                ]
                yield None, (), item
                continue
            if kind == "message" or (kind is None and "role" in item):
                role, parts = self.read_message(item, path)
                if role == "assistant":
                    seen.extra += [
                        (*path, name)
                        for name, value in item.items()
                        if name not in MESSAGE.keys and value is not None
                    ]
            else:
                parts = self._read_item(item, path, seen)
                role = _speaker(parts[0])
            if role == "assistant" and item.get("status") not in (None, "completed"):
                seen.extra.append((*path, "status"))
            yield role, parts, item

    def read_message(self, item: Object, path: JsonPath) -> tuple[Role | None, tuple[Part, ...]]:
        """Who speaks in a message item, and its parts; nobody, if it is not a message after all."""
        said, content = item.get("role"), item.get("content")
        if said == "tool" and TOLD.read is not None and isinstance(content, str | list | None):
            return "tool", (TOLD.read(item, path, TOLD),)
        role = ROLES.get(said) if isinstance(said, str) else None
        if role is not None and isinstance(content, str):
            return role, (
                Text(content, source=Source(content, (*path, "content"), inside(PLAIN, item))),
            )
        if role is None or not isinstance(content, list):
            return None, (opaque("message", item, path),)
        if not content:
            return role, (Text("", source=Source(item, path, EMPTY)),)
        parts = read_content(content, (*path, "content"))
        return role, tuple(
            [
                replace(part, source=replace(part.source, spec=inside(part.spec or OPAQUE, item)))  # type: ignore[arg-type]
                for part in parts
            ]
        )

    def _read_item(self, item: Object, path: JsonPath, seen: Seen) -> tuple[Part, ...]:
        kind = item.get("type")
        spec = self.rows.get(kind) if isinstance(kind, str) else None
        if spec is None or spec.read is None:
            return (opaque(kind, item, path),)
        try:
            part = spec.read(item, path, spec)
        except UNREADABLE:
            return (opaque(kind, item, path),)
        if isinstance(part, Reasoning) and item.get("content") and item.get("summary"):
            seen.extra.append((*path, "summary"))
        if isinstance(part, Result):
            part = seen.named(part) if part.name else part
            return (seen.result(part) if spec.name in LOOSE else part,)
        if isinstance(part, Call):
            seen.call(part)
            spec = part.spec if isinstance(part.spec, Block) else spec
            if spec.answer is not None and spec.answer.read is not None:
                result = spec.answer.read(item, path, spec.answer)
                assert isinstance(result, Result)
                if result.output or str(item.get("status")) not in PENDING:
                    return part, replace(result, name=part.name)
        return (part,)

    def read_turns(self, items: list[JSON], key: str, seen: Seen) -> list[Message]:
        """The items as messages: consecutive ones of the model, and of the client's tools, belong
        together."""
        messages: list[Message] = []
        parts: list[Part] = []
        late: list[Message] = []
        """What offers tools in the middle of a turn: it stands behind it, so as not to tear it in
        two."""
        now: Role | None = None

        def close() -> None:
            if parts and now is not None:
                messages.append(
                    Message(
                        now, tuple(parts), None, self.name, source=Source(path=parts[0].path[:2])
                    )
                )
                parts.clear()
            messages.extend(late)
            late.clear()

        for i, (role, found, item) in enumerate(self.read_items(items, key, seen)):
            if role in ("user", "system"):
                close()
                now = None
                messages.append(
                    Message(role, found, None, self.name, source=Source(item, (key, i), MESSAGE))
                )
                continue
            if not found:
                first = now is None and all(message.role == "system" for message in messages)
                whose: Role = "system" if first else "user" if now is None else "tool"
                late.append(
                    Message(
                        whose,
                        (),
                        None,
                        self.name,
                        source=Source(path=(key, i), spec=replace(ADDED, item=item)),
                    )
                )
                if now is None:
                    close()
                continue
            # Whoever spoke last owns an item that nobody knows: it must not tear calls from their
            # results.
            speaker = role or now or "user"
            if speaker != now:
                close()
                now = speaker
            parts.extend(found)
        close()
        return messages

    # --- whole bodies ---

    def read(self, body: JSON, kind: Kind) -> Conversation:
        """A request or a response as a conversation."""
        if not isinstance(body, dict):
            raise_unexpected(self.name, (), "an object", body)
        return self._read_response(body) if kind == "response" else self._read_request(body)

    def _read_request(self, body: Object) -> Conversation:
        seen = Seen()
        messages: list[Message] = []
        known = ["input", "tools"]
        prompt, given = body.get("instructions"), body.get("input")
        if isinstance(prompt, str):
            known.append("instructions")
            if prompt:
                messages.append(self._plain("system", prompt, "instructions"))
        if body.get("text") == {"format": {"type": "text"}}:
            known.append("text")
        if isinstance(given, str):
            messages += [self._plain("user", given, "input")] if given else []
        elif given is not None:
            messages += self.read_turns(list_at(self.name, body, ("input",)), "input", seen)
        elif not any(
            body.get(key) is not None for key in ("prompt", "conversation", "previous_response_id")
        ):
            raise_unexpected(self.name, ("input",), "a string or a list", body.get("input", UNSET))
        offered = list_at(self.name, body, ("tools",)) if body.get("tools") is not None else []
        settings = read_settings(REQUEST, body, keys(*known))
        tools = tuple(
            one
            for i, tool in enumerate(offered)
            for one in read_offers(self.name, tool, ("tools", i), seen.extra)
        )
        tools += tuple(read_added(self.name, given, seen.extra)) if isinstance(given, list) else ()
        values = settings.values
        if "choice" in values:
            values["choice"] = meant(values["choice"], tools)
        return Conversation(
            assign_ids(tuple(messages), seed="", ordered=False),
            tools,
            values,
            self.name,
            "request",
            source=BodySource(
                body, unknown_fields=(*settings.unknown, *seen.extra), setting_paths=settings.places
            ),
        )

    def _plain(self, role: Role, text: str, key: str) -> Message:
        return Message(
            role,
            (Text(text, source=Source(text, (key,), PLAIN)),),
            None,
            self.name,
            source=Source(raw=text, path=(key,)),
        )

    def _read_response(self, body: Object) -> Conversation:
        seen = Seen()
        found = self.read_items(list_at(self.name, body, ("output",)), "output", seen)
        parts = tuple([part for _, some, _ in found for part in some])
        called = any(isinstance(part, Call) and part.executor == "client" for part in parts)
        message = Message(
            "assistant",
            parts,
            read_stop(body, called=called),
            self.name,
            source=Source(path=("output",)),
        )
        settings = read_settings(
            RESPONSE, body, ECHO | keys("object", "output", "status", "incomplete_details")
        )
        messages = assign_ids((message,), seed=str(settings.values.get("id", "")), ordered=False)
        return Conversation(
            messages,
            (),
            settings.values,
            self.name,
            "response",
            source=BodySource(
                body, unknown_fields=(*settings.unknown, *seen.extra), setting_paths=settings.places
            ),
        )

    def write(self, conversation: Conversation, context: EncodeContext) -> JSON:
        """A conversation as a request or a response."""
        if context.kind == "response":
            return self._write_response(conversation, context)
        home = conversation.wire == context.wire and conversation.kind == "request"
        body = write_settings(REQUEST, conversation, context)
        choice = conversation.settings.get("choice")
        if (
            isinstance(choice, Choice)
            and "tool_choice" in body
            and not (home and _same_choice(conversation))
        ):
            path = conversation.source.setting_paths.get("choice", ("tool_choice",))
            body["tool_choice"] = write_choice(choice, conversation.tools, context, path)
        messages = (
            conversation.messages
            if not home or conversation.same_tools
            else _reoffered(conversation, context)
        )
        prompt = _prompt(messages[0], context) if messages else None
        if prompt is not None:
            body["instructions"] = prompt
            messages = messages[1:]
        elif isinstance(body.get("instructions"), str) and body["instructions"]:
            del body["instructions"]
        items = Writer(self.rows, context, self.read_message).items(messages)
        if home and len(messages) == 1 and messages[0].path == ("input",) and len(items) == 1:
            only = items[0]
            body["input"] = only["content"] if isinstance(only, dict) else only
        elif items or not home or isinstance(body.get("input"), list):
            body["input"] = items
        placed = _placed(conversation) if home else frozenset()
        loose = [tool for tool in conversation.tools if tool.path[:2] not in placed]
        if (
            not home
            or not conversation.same_tools
            or any(tool.path[:1] == ("input",) for tool in loose)
        ):
            tools = write_tools(loose, context, conversation.source.body if home else None)
            if tools:
                body["tools"] = tools
            else:
                body.pop("tools", None)
        return body

    def _write_response(self, conversation: Conversation, context: EncodeContext) -> JSON:
        home = conversation.wire == context.wire and conversation.kind == "response"
        body = write_settings(RESPONSE, conversation, context)
        seed = conversation.settings.get("id")
        context.seed = seed if isinstance(seed, str) else ""
        said = answer_messages(conversation, context)
        first = said[0] if said else Message("assistant", ())
        for message in said[1:]:
            context.report_loss(message, "an answer here is one message; the others stay behind")
        items = Writer(self.rows, context, self.read_message).items((first,))
        if home:
            return {**body, "output": items}
        for tool in conversation.tools:
            context.report_loss(tool, "an answer offers no tools")
        stop = write_stop(first.stop)
        called = any(isinstance(part, Call) and part.executor == "client" for part in first.parts)
        if read_stop(stop, called=called) != first.stop and first.stop is not None:
            context.report_loss(
                first.path, f"this wire has no word for the stop reason `{first.stop}`"
            )
        frame: Object = {
            "id": "",
            "object": "response",
            "created_at": 0,
            "model": "",
            "error": None,
        }
        rest: Object = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {**frame, **body, **stop, "output": items, **rest}

    # --- telling it from others ---

    def looks(self, body: JSON) -> int:
        """How sure it is that a body has this shape; an item it does not know makes it less so."""
        if not isinstance(body, dict):
            return 0
        items = body.get("output") if "output" in body else body.get("input")
        named = body.get("object") == "response"
        if isinstance(items, str) and "output" not in body:
            return 2 if "instructions" in body or "max_output_tokens" in body else 1
        if not isinstance(items, list) or not all(
            isinstance(item, dict) and ("type" in item or "role" in item) for item in items
        ):
            return 0
        kinds = {item.get("type") for item in items if isinstance(item, dict)}
        if not all(kind is None or isinstance(kind, str) for kind in kinds) or (
            not items and not named
        ):
            return 0
        strange = any(
            isinstance(kind, str) and kind not in self.rows and kind not in _OTHERS
            for kind in kinds
        )
        return (
            2 if strange or not (named or kinds & self.rows.keys() or "instructions" in body) else 3
        )


_OTHERS = keys(
    "message",
    "item_reference",
    "compaction",
    "compaction_trigger",
    "additional_tools",
    "configuration_update",
    "agent_message",
)
"""Items that are neither calls nor results and are kept as they are."""


def _placed(conversation: Conversation) -> frozenset[JsonPath]:
    """The places of the items of a history that offer tools; what an item offered that is gone is
    offered anew."""
    return frozenset(
        message.path for message in conversation.messages if isinstance(message.spec, Added)
    )


def _reoffered(conversation: Conversation, context: EncodeContext) -> tuple[Message, ...]:
    """The messages of a history with the items that offer tools as these are now."""

    def now(message: Message) -> Message:
        if not isinstance(message.spec, Added) or not isinstance(message.spec.item, dict):
            return message
        tools = write_tools(
            (tool for tool in conversation.tools if tool.path[:2] == message.path),
            context,
            conversation.source.body,
        )
        return replace(
            message,
            source=replace(
                message.source, spec=replace(ADDED, item={**message.spec.item, "tools": tools})
            ),
        )

    return tuple(map(now, conversation.messages))


def _same_choice(conversation: Conversation) -> bool:
    before = conversation.source.settings
    return isinstance(before, dict) and before.get("choice") == conversation.settings.get("choice")


def _speaker(part: Part) -> Role | None:
    if isinstance(part, Result):
        return "tool" if part.executor == "client" else "assistant"
    return None if isinstance(part, Opaque) else "assistant"


def _prompt(message: Message, context: EncodeContext) -> str | None:
    """A system message that can stand apart as the instructions: one plain text."""
    if (
        message.role != "system"
        or len(message.parts) != 1
        or (isinstance(message.raw, dict) and message.wire == context.wire)
    ):
        return None
    only = message.parts[0]
    return only.text if isinstance(only, Text) and not only.refusal and only.text else None
