"""Lowering: adapt a conversation to what its target can hold, and report each loss once.

Messages that were read from the target's own wire are not touched. Everything else becomes what
the target's capabilities allow, so that its writer never meets a part it cannot write. This module
knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET, Struct
from msgspec.structs import replace

from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Choice, Conversation, Format, Loss, Setting, Tool, Usage
from toolwire.conversation.parts import (
    Call,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Result,
    Source,
    Text,
    describe,
    output_text,
    say_error,
)
from toolwire.wires.engine.capabilities import EVERYTHING, NO_MEDIA, Capabilities, Place, media_form
from toolwire.wires.engine.media import mime_of

CLIENT_TOOLS = ("function", "custom")
"""Kinds of tools that a client runs; any other is a provider's own."""
_FORMAT_FIELDS = ("name", "strict", "description")
_USAGE_FIELDS = ("cached", "cache_write", "reasoning")
NO_ERROR_FLAG = "a result has no error flag here; its text says that it is an error"
_SHOWN = 80
"""Characters of a part that a loss quotes."""


class Lowered(Struct, frozen=True):
    """A conversation that its target can hold, and what had to be given up for that."""

    conversation: Conversation
    losses: list[Loss]


def lower(
    conversation: Conversation,
    capabilities: Capabilities,
    *,
    wire: str,
    kind: str,
    plain: bool = False,
) -> Lowered:
    """Adapt a conversation to the capabilities of a wire.

    Args:
        conversation: The conversation; it is not modified.
        capabilities: What the target can hold.
        wire: The target's name: messages read from this wire stay as they are.
        kind: `request` or `response`.
        plain: True if the messages are known to hold nothing that needs lowering.
    """
    losses: list[Loss] = []
    if conversation.wire != wire:
        conversation = _without_nameless_tools(conversation, losses)
        if kind == "request":
            conversation = _without_idle_settings(conversation, losses)
    if capabilities is EVERYTHING:
        return Lowered(conversation, losses)
    messages = conversation.messages
    native = conversation.wire == wire and conversation.kind == kind
    if kind == "response" and not native:
        messages = _answer_messages(messages, capabilities, losses)
    if not plain:
        messages = _lower_messages(messages, capabilities, wire=wire, kind=kind, losses=losses)
    tools = conversation.tools
    if not native:
        tools = _lower_tools(tools, capabilities, kind=kind, losses=losses)
    settings = conversation.settings
    if conversation.wire != wire or settings is not conversation.source.settings:
        paths = conversation.source.setting_paths
        settings = lower_settings(settings, capabilities, paths, losses)
    unchanged = messages is conversation.messages and tools is conversation.tools
    if unchanged and settings is conversation.settings:
        return Lowered(conversation, losses)
    return Lowered(replace(conversation, messages=messages, tools=tools, settings=settings), losses)


# --- messages -------------------------------------------------------------------------------------


def _answer_messages(
    messages: tuple[Message, ...], capabilities: Capabilities, losses: list[Loss]
) -> tuple[Message, ...]:
    """The messages of a response: what the assistant says, and one candidate where one is held."""
    kept = list(messages)
    if not capabilities.messages_in_answers:
        others = [message for message in messages if message.role != "assistant"]
        losses += [
            Loss(message.path, "an answer holds only what the assistant says") for message in others
        ]
        kept = [message for message in messages if message.role == "assistant"]
    if not capabilities.candidates and not capabilities.messages_in_answers:
        losses += [
            Loss(message.path, "an answer here is one message; the other candidates stay behind")
            for message in kept[1:]
        ]
        kept = kept[:1]
    return messages if len(kept) == len(messages) else tuple(kept)


def _lower_messages(
    messages: tuple[Message, ...],
    capabilities: Capabilities,
    *,
    wire: str,
    kind: str,
    losses: list[Loss],
) -> tuple[Message, ...]:
    out: list[Message] = []
    following: list[Part] = []
    """Media of results, which go into a user message after the results of the turn."""
    changed = False
    for message in messages:
        if following and message.role == "assistant":
            out.append(Message("user", tuple(following)))
            following = []
        if message.wire == wire and not any(_is_new(part) for part in message.parts):
            out.append(message)
            continue
        lowered = _lower_message(
            message,
            capabilities,
            wire=wire,
            kind=kind,
            first=all(earlier.role == "system" for earlier in out),
            losses=losses,
            following=following,
        )
        others = [part for part in lowered.parts if not isinstance(part, Result)]
        if following and others and lowered.role in ("user", "tool"):
            results = [part for part in lowered.parts if isinstance(part, Result)]
            lowered = replace(lowered, parts=(*results, *following, *others))
            following = []
        changed = changed or lowered is not message
        if lowered.parts or not message.parts or kind == "response":
            out.append(lowered)
    if following:
        out.append(Message("user", tuple(following)))
    return tuple(out) if changed or len(out) != len(messages) else messages


def _is_new(part: Part) -> bool:
    """True if a part was not read from a body: an edit put it into its message."""
    return part.source.raw is UNSET and part.source.spec is None


def _lower_message(
    message: Message,
    capabilities: Capabilities,
    *,
    wire: str,
    kind: str,
    first: bool,
    losses: list[Loss],
    following: list[Part],
) -> Message:
    role = message.role
    if role == "system" and message.wire != wire and not first and not capabilities.system_anywhere:
        losses.append(Loss(message.path, "a system message in mid-conversation becomes a user's"))
        role = "user"
    place: Place = "user" if role == "tool" else role
    parts: list[Part] = []
    native = message.wire == wire
    for part in message.parts:
        if native and not _is_new(part):
            parts.append(part)
        elif isinstance(part, Result):
            parts.append(_lower_result(part, capabilities, losses, following))
        else:
            parts += lower_part(part, capabilities, place, kind=kind, losses=losses)
    if not native and not capabilities.text_after_calls:
        parts = _text_first(parts, losses)
    same = len(parts) == len(message.parts) and all(map(_is, parts, message.parts))
    if same and role == message.role:
        return message
    return replace(message, role=role, parts=tuple(parts))


def _is(one: Part, other: Part) -> bool:
    return one is other


def _text_first(parts: list[Part], losses: list[Loss]) -> list[Part]:
    """The parts of a message with text that follows a call moved before the first call."""
    start = next((n for n, part in enumerate(parts) if _is_client_call(part)), len(parts))
    late = [part for part in parts[start:] if isinstance(part, Text) and part.text]
    if not late:
        return parts
    losses += [Loss(part.path, "text after a call stands before the calls here") for part in late]
    rest = [part for part in parts[start:] if not any(part is text for text in late)]
    return [*parts[:start], *late, *rest]


def _is_client_call(part: Part) -> bool:
    return isinstance(part, Call) and part.executor == "client"


# --- parts ----------------------------------------------------------------------------------------


def lower_part(
    part: Part, capabilities: Capabilities, place: Place, *, kind: str, losses: list[Loss]
) -> tuple[Part, ...]:
    """A part as the target can hold it at a place: itself, something else, or nothing."""
    if capabilities is EVERYTHING:
        return (part,)
    match part:
        case Text(refusal=True) if not capabilities.refusals:
            losses.append(Loss(part.path, "a refusal is sent as plain text"))
            return (Text(part.text, source=Source(path=part.path)),)
        case Media():
            return (_lower_media(part, capabilities, place, losses),)
        case Reasoning():
            return _lower_reasoning(part, capabilities, kind=kind, losses=losses)
        case Result() if capabilities.result_media == "inside":
            return (_lower_result(part, capabilities, losses, []),)
        case Opaque():
            losses.append(Loss(part.path, f"no such block on this wire: {_quote(part)}"))
            return ()
    return (part,)


def lower_opening(part: Part, capabilities: Capabilities, *, losses: list[Loss]) -> Part | None:
    """A part that opens in a stream, as the target can hold it; None if it cannot.

    Its text is still to come, so nothing is decided by that.
    """
    if isinstance(part, Text) and part.refusal and not capabilities.refusals:
        losses.append(Loss(part.path, "a refusal is sent as plain text"))
        return replace(part, refusal=False)
    if isinstance(part, Reasoning) and not capabilities.reasoning_in_answers:
        losses.append(Loss(part.path, "reasoning of another provider is not taken back"))
        return None
    return part


def _lower_media(
    media: Media, capabilities: Capabilities, place: Place, losses: list[Loss]
) -> Part:
    support = capabilities.media
    if support is not None and not support.get(place, NO_MEDIA).holds(media):
        if media.text is not None:
            losses.append(Loss(media.path, "a text document is sent as text"))
        else:
            form = {"file": " by file id", "url": " by URL"}.get(media_form(media), "")
            reason = f"this wire takes no {media.kind}{form} here; it is named in text"
            losses.append(Loss(media.path, reason))
        return Text(describe(media), source=Source(path=media.path))
    names = capabilities.media_names
    if media.name is not None and names is not None and media.kind not in names:
        losses.append(Loss(media.path, f"the name of this {media.kind} is not kept here"))
        return replace(media, name=None, mime=mime_of(media))  # the name may be all that tells it
    return media


def _lower_reasoning(
    part: Reasoning, capabilities: Capabilities, *, kind: str, losses: list[Loss]
) -> tuple[Part, ...]:
    if not part.text and part.hidden is None and _is_new(part):
        return (part,)  # repair put it there, because the target wants the field
    if not part.text and not capabilities.opaque_reasoning:
        losses.append(Loss(part.path, "reasoning that only its own provider can read"))
        return ()
    holds = (
        capabilities.reasoning_in_answers
        if kind == "response"
        else capabilities.reasoning_in_history
    )
    if not holds:
        losses.append(Loss(part.path, "reasoning of another provider is not taken back"))
        return ()
    return (part,)


def _lower_result(
    result: Result, capabilities: Capabilities, losses: list[Loss], following: list[Part]
) -> Result:
    """A result as the target can hold it. That it is an error stays known to the writer."""
    if result.error and result.executor == "client" and not capabilities.error_flag:
        losses.append(Loss(result.path, NO_ERROR_FLAG))
        result = replace(result, output=say_error(result.output))
    if not isinstance(result.output, tuple):
        return result
    output: list[Part] = []
    for part in result.output:
        if isinstance(part, Media) and capabilities.result_media == "after" and part.text is None:
            losses.append(
                Loss(part.path, "a result holds text only here; the media follow in a user message")
            )
            output.append(Text(describe(part), source=Source(path=part.path)))
            following.append(Text(f"From tool call {result.call_id}:", source=Source()))
            following += lower_part(part, capabilities, "user", kind="request", losses=losses)
        elif isinstance(part, Text | Media):
            output += lower_part(part, capabilities, "result", kind="request", losses=losses)
        else:
            losses.append(Loss(part.path, f"a result cannot hold this here: {_quote(part)}"))
            output.append(Text(describe(part), source=Source(path=part.path)))
    if not capabilities.result_parts and all(isinstance(part, Text) for part in output):
        if len(output) > 1:
            losses.append(Loss(result.path, "the parts of a result are joined to one text here"))
        return replace(result, output=output_text(tuple(output)))
    if len(output) == len(result.output) and all(map(_is, output, result.output)):
        return result
    return replace(result, output=tuple(output))


def _quote(part: Part) -> str:
    return describe(part)[:_SHOWN]


# --- tool definitions and settings ----------------------------------------------------------------


def _lower_tools(
    tools: tuple[Tool, ...], capabilities: Capabilities, *, kind: str, losses: list[Loss]
) -> tuple[Tool, ...]:
    if not tools:
        return tools
    if kind == "response" and not capabilities.tools_in_answers:
        losses += [Loss(tool.path, "an answer holds no tool definitions") for tool in tools]
        return ()
    if not capabilities.tool_definitions:
        losses += [Loss(tool.path, "this wire holds no tool definitions") for tool in tools]
        return ()
    if any(tool.kind not in CLIENT_TOOLS for tool in tools):
        losses += [
            Loss(tool.path, f"a tool of another provider: {tool.kind}")
            for tool in tools
            if tool.kind not in CLIENT_TOOLS
        ]
        tools = tuple(tool for tool in tools if tool.kind in CLIENT_TOOLS)
    if capabilities.strict_tools or all(tool.strict is None for tool in tools):
        return tools
    flagged = [tool for tool in tools if tool.strict is not None]
    losses += [Loss(tool.path, "a tool has no strict flag here") for tool in flagged]
    return tuple(tool if tool.strict is None else replace(tool, strict=None) for tool in tools)


def _without_nameless_tools(conversation: Conversation, losses: list[Loss]) -> Conversation:
    nameless = [tool for tool in conversation.tools if not tool.name and tool.kind in CLIENT_TOOLS]
    if not nameless:
        return conversation
    losses += [Loss(tool.path, "a tool without a name cannot be defined") for tool in nameless]
    tools = tuple(tool for tool in conversation.tools if tool.name or tool.kind not in CLIENT_TOOLS)
    return replace(conversation, tools=tools)


def _without_idle_settings(conversation: Conversation, losses: list[Loss]) -> Conversation:
    """Drop settings about tools that are not defined: servers refuse even a free choice of none.

    A choice that demands a call is kept where no tools were defined in the first place: the server
    says what is wrong with it.
    """
    settings = conversation.settings
    if "choice" not in settings and "parallel" not in settings:
        return conversation
    choice = settings.get("choice")
    names = choice.names if isinstance(choice, Choice) else ()
    defined = {tool.name for tool in conversation.tools if tool.kind in CLIENT_TOOLS}
    idle: tuple[str, ...] = ()
    if not defined:
        demanded = isinstance(choice, Choice) and choice.mode == "required"
        were_defined = bool(conversation.source.tools or conversation.tools)
        idle = () if demanded and not were_defined else ("choice", "parallel")
    elif names and defined.isdisjoint(names):
        idle = ("choice",)
    paths = conversation.source.setting_paths
    for name in idle:
        if name in settings:
            reason = "there are no tool definitions"
            if defined:
                reason = f"tool_choice names a tool that is not defined: {', '.join(names)}"
            losses.append(Loss(paths.get(name, (name,)), reason))
    kept = {name: value for name, value in settings.items() if name not in idle}
    return replace(conversation, settings=kept) if len(kept) < len(settings) else conversation


def lower_settings(
    settings: dict[str, Setting],
    capabilities: Capabilities,
    paths: Mapping[str, JsonPath],
    losses: list[Loss],
) -> dict[str, Setting]:
    """Settings as the target can hold them: the same dict if nothing changes."""
    changed: dict[str, Setting] = {}
    for name, value in settings.items():
        lowered = _lower_setting(value, capabilities, paths.get(name, (name,)), losses)
        if lowered is not value:
            changed[name] = lowered
    return {**settings, **changed} if changed else settings


def _lower_setting(
    value: Setting, capabilities: Capabilities, path: JsonPath, losses: list[Loss]
) -> Setting:
    match value:
        case Choice(names=names) if names and capabilities.choice_names != "any":
            if capabilities.choice_names == "none":
                losses.append(Loss(path, "a tool choice names no tools here"))
                return replace(value, names=())
            if len(names) > 1:
                reason = "only one tool can be named here; the others stay allowed"
                losses.append(Loss(path, reason))
                return replace(value, names=())
        case Format():
            return _without_fields(value, _FORMAT_FIELDS, capabilities.format_fields, path, losses)
        case Usage():
            return _without_fields(value, _USAGE_FIELDS, capabilities.usage_fields, path, losses)
    return value


def _without_fields(
    value: Format | Usage,
    names: Iterable[str],
    held: frozenset[str],
    path: JsonPath,
    losses: list[Loss],
) -> Format | Usage:
    """A setting without the fields that the target does not hold."""
    dropped = [name for name in names if name not in held and getattr(value, name) is not None]
    if not dropped:
        return value
    reported = [name for name in dropped if getattr(value, name) is False or getattr(value, name)]
    if reported:
        losses.append(Loss(path, f"not held here: {', '.join(reported)}"))
    return replace(value, **dict.fromkeys(dropped))
