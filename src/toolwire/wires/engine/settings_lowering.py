"""Lower tool definitions and settings to what a target can hold, and report each loss once.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from toolwire.conversation.json import JsonPath
from toolwire.conversation.model import Choice, Conversation, Format, Loss, Setting, Tool, Usage
from toolwire.wires.engine.capabilities import Capabilities

CLIENT_TOOLS = ("function", "custom")
"""Kinds of tools that a client runs; any other is a provider's own."""
_FORMAT_FIELDS = ("name", "strict", "description")
_USAGE_FIELDS = ("cached", "cache_write", "reasoning")


def lower_tools(
    tools: tuple[Tool, ...],
    capabilities: Capabilities,
    read: Collection[Tool] = (),
    *,
    kind: str,
    losses: list[Loss],
) -> tuple[Tool, ...]:
    """The tools that the target can define; `read` are those of a body of its own."""
    if not tools:
        return tools
    if kind == "response" and not capabilities.tools_in_answers:
        losses += [Loss(tool.path, "an answer holds no tool definitions") for tool in tools]
        return ()
    if not capabilities.tool_definitions:
        losses += [Loss(tool.path, "this wire holds no tool definitions") for tool in tools]
        return ()
    foreign = [tool for tool in tools if tool.kind not in CLIENT_TOOLS and tool not in read]
    if foreign:
        losses += [Loss(tool.path, f"a tool of another provider: {tool.kind}") for tool in foreign]
        tools = tuple(tool for tool in tools if tool.kind in CLIENT_TOOLS or tool in read)
    if capabilities.strict_tools or all(tool.strict is None for tool in tools):
        return tools
    flagged = [tool for tool in tools if tool.strict is not None]
    losses += [Loss(tool.path, "a tool has no strict flag here") for tool in flagged]
    return tuple(tool if tool.strict is None else replace(tool, strict=None) for tool in tools)


def without_nameless_tools(conversation: Conversation, losses: list[Loss]) -> Conversation:
    nameless = [tool for tool in conversation.tools if not tool.name and tool.kind in CLIENT_TOOLS]
    if not nameless:
        return conversation
    losses += [Loss(tool.path, "a tool without a name cannot be defined") for tool in nameless]
    tools = tuple(tool for tool in conversation.tools if tool.name or tool.kind not in CLIENT_TOOLS)
    return replace(conversation, tools=tools)


def without_idle_settings(conversation: Conversation, losses: list[Loss]) -> Conversation:
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
                reason = "a tool choice names no tools here"
            elif value.mode != "required":
                reason = "a tool can be named here only if it is required"
            elif capabilities.choice_names == "one" and len(names) > 1:
                reason = "only one tool can be named here; the others stay allowed"
            else:
                return value
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
