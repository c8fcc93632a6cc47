"""Lower tool definitions and settings to the capabilities of a target, and report each loss once.

This module knows no wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec.structs import replace

from toolwire.conversation.json import JsonPath, text_of
from toolwire.conversation.model import (
    Choice,
    Conversation,
    Format,
    Loss,
    LossSeverity,
    Setting,
    Tool,
    Usage,
)
from toolwire.wires.engine.capabilities import FORMAT_FIELDS, USAGE_FIELDS, Capabilities
from toolwire.wires.engine.incidental import setting_matters
from toolwire.wires.engine.specs import Block
from toolwire.wires.engine.web_search import SETTING

CLIENT_TOOLS = ("function", "custom")
"""Kinds of tools that a client runs; any other tool is a provider's own."""


def lower_tools(
    tools: tuple[Tool, ...],
    capabilities: Capabilities,
    read: Collection[Tool] = (),
    *,
    kind: str,
    plain: bool,
    losses: list[Loss],
) -> tuple[Tool, ...]:
    """The tools that the target can define.

    `read` are the tools of a body that was read from the target's wire: they stay. `plain`: the
    tools are known to be functions with a name and without a strict flag.
    """
    if not tools:
        return tools
    if kind == "response" and not capabilities.tools_in_answers:
        losses += [Loss(tool.path, "a response has no tool definitions") for tool in tools]
        return ()
    if not capabilities.tool_definitions:
        losses += [Loss(tool.path, "this wire has no tool definitions") for tool in tools]
        return ()
    if plain:
        return tools
    search = capabilities.web_search
    foreign = [
        tool
        for tool in tools
        if tool.kind not in CLIENT_TOOLS
        and not (search is not None and tool.web_search is not None and tool.kind == search.kind)
        and tool not in read
    ]
    if foreign:
        losses += [
            Loss(tool.path, f"a tool that only another provider has: {tool.kind}")
            for tool in foreign
            if not (isinstance(tool.spec, Block) and tool.spec.marks_cache)
        ]
        tools = tuple(tool for tool in tools if not any(tool is other for other in foreign))
    if capabilities.strict_tools or all(tool.strict is None for tool in tools):
        return tools
    flagged = [tool for tool in tools if tool.strict is not None]
    for tool in flagged:
        severity: LossSeverity = "loss" if tool.strict else "info"
        losses.append(Loss(tool.path, "a tool has no strict flag here", severity=severity))
    return tuple(tool if tool.strict is None else replace(tool, strict=None) for tool in tools)


def without_nameless_tools(conversation: Conversation, losses: list[Loss]) -> Conversation:
    nameless = [tool for tool in conversation.tools if not tool.name and tool.kind in CLIENT_TOOLS]
    if not nameless:
        return conversation
    losses += [Loss(tool.path, "a tool without a name cannot be defined") for tool in nameless]
    tools = tuple(tool for tool in conversation.tools if tool.name or tool.kind not in CLIENT_TOOLS)
    return replace(conversation, tools=tools)


def without_repeated_tools(conversation: Conversation) -> Conversation:
    """Drop tool definitions that are equal to an earlier one."""
    tools = conversation.tools
    if len({tool.name for tool in tools}) == len(tools):
        return conversation
    kept: dict[tuple[object, ...], Tool] = {}
    for tool in tools:
        content = (tool.kind, tool.description, tool.strict, text_of(tool.schema))
        kept.setdefault((tool.name, *content), tool)
    return (
        replace(conversation, tools=tuple(kept.values()))
        if len(kept) < len(tools)
        else conversation
    )


def without_defaults(conversation: Conversation, defaults: Mapping[str, int]) -> Conversation:
    """Drop settings that still have the value that an earlier encoding added."""
    kept = {
        name: value
        for name, value in conversation.settings.items()
        if name not in defaults or value != defaults[name]
    }
    if len(kept) == len(conversation.settings):
        return conversation
    return replace(conversation, settings=kept)


def without_idle_settings(conversation: Conversation, losses: list[Loss]) -> Conversation:
    """Drop settings about tools if no tools are defined: servers refuse even the choice `auto`
    then."""
    settings = conversation.settings
    if "choice" not in settings and "parallel" not in settings:
        return conversation
    choice = settings.get("choice")
    names = choice.names if isinstance(choice, Choice) else ()
    defined = {tool.name for tool in conversation.tools if tool.kind in CLIENT_TOOLS}
    idle: tuple[str, ...] = ()
    if not defined:
        idle = ("choice", "parallel")
    elif names and defined.isdisjoint(names):
        idle = ("choice",)
    elif isinstance(choice, Choice) and not defined.issuperset(names):
        return _without_undefined_choices(conversation, choice, defined, losses)
    paths = conversation.source.setting_paths
    for name in idle:
        if name in settings:
            reason = "no tools are defined"
            if defined:
                reason = f"tool_choice names a tool that is not defined: {', '.join(names)}"
            severity: LossSeverity = "loss" if setting_matters(name, settings[name]) else "info"
            losses.append(Loss(paths.get(name, (name,)), reason, severity=severity))
    kept = {name: value for name, value in settings.items() if name not in idle}
    return replace(conversation, settings=kept) if len(kept) < len(settings) else conversation


def _without_undefined_choices(
    conversation: Conversation, choice: Choice, defined: set[str], losses: list[Loss]
) -> Conversation:
    """Drop the names of undefined tools from a choice: servers refuse the whole choice
    otherwise."""
    names = tuple(name for name in choice.names if name in defined)
    dropped = [name for name in choice.names if name not in defined]
    path = conversation.source.setting_paths.get("choice", ("choice",))
    losses.append(Loss(path, f"tool_choice names tools that are not defined: {', '.join(dropped)}"))
    settings = {**conversation.settings, "choice": replace(choice, names=names)}
    return replace(conversation, settings=settings)


def lower_settings(
    settings: dict[str, Setting],
    capabilities: Capabilities,
    paths: Mapping[str, JsonPath],
    losses: list[Loss],
) -> dict[str, Setting]:
    """The settings as the target can hold them; the same dict if nothing changes."""
    limited = capabilities.limited_settings
    if limited.isdisjoint(settings):
        return settings
    changed: dict[str, Setting] = {}
    for name, kind, lower in _LOWER:
        if name in limited and isinstance(settings.get(name), kind):
            lowered = lower(settings[name], capabilities, paths.get(name, (name,)), losses)
            if lowered is not settings[name]:
                changed[name] = lowered
    return {**settings, **changed} if changed else settings


def _lower_choice(
    value: Choice, capabilities: Capabilities, path: JsonPath, losses: list[Loss]
) -> Choice:
    names = value.names
    if not names:
        return value
    if capabilities.choice_names == "none":
        reason = "a tool choice cannot name a tool here"
    elif value.mode != "required":
        reason = "a tool choice can name a tool here only if it requires it"
    elif capabilities.choice_names == "one" and len(names) > 1:
        reason = "a tool choice can name only one tool here; the others stay allowed"
    else:
        return value
    losses.append(Loss(path, reason))
    return replace(value, names=())


def _lower_format(
    value: Format, capabilities: Capabilities, path: JsonPath, losses: list[Loss]
) -> Setting:
    return _without_fields(value, FORMAT_FIELDS, capabilities.format_fields, path, losses)


def _lower_usage(
    value: Usage, capabilities: Capabilities, path: JsonPath, losses: list[Loss]
) -> Setting:
    return _without_fields(value, USAGE_FIELDS, capabilities.usage_fields, path, losses)


_LOWER: tuple[tuple[str, type, Callable[..., Setting]], ...] = (
    ("choice", Choice, _lower_choice),
    ("format", Format, _lower_format),
    ("usage", Usage, _lower_usage),
)
"""The settings whose fields a target may lack: their names, their types, and how each is lowered.
"""
_LOWERABLE = frozenset({"choice", "format", "usage", "parallel", SETTING})


def has_lowerable(settings: Mapping[str, Setting]) -> bool:
    """True if a setting may have to be lowered; other settings concern only the writer."""
    return not _LOWERABLE.isdisjoint(settings)


def _without_fields(
    value: Format | Usage,
    names: Iterable[str],
    held: frozenset[str],
    path: JsonPath,
    losses: list[Loss],
) -> Format | Usage:
    """A setting without the fields that the target cannot hold."""
    dropped = [name for name in names if name not in held and getattr(value, name) is not None]
    if not dropped:
        return value
    reported = [name for name in dropped if getattr(value, name) is False or getattr(value, name)]
    if reported:
        matters = isinstance(value, Format) and any(getattr(value, name) for name in reported)
        severity: LossSeverity = "loss" if matters else "info"
        losses.append(Loss(path, f"no field here for {', '.join(reported)}", severity=severity))
    return replace(value, **dict.fromkeys(dropped))
