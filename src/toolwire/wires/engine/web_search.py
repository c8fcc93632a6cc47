"""Web searches that the provider runs: from the form of one wire to the form of another.

Most wires define a search as a tool, some as a setting of the request. This module knows no wire by
name.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from toolwire.conversation.json import JSON, JsonPath, Object
from toolwire.conversation.model import Conversation, Loss, LossSeverity, Tool, WebSearch
from toolwire.conversation.parts import Message, Source, Text

SETTING = "web_search"
"""The setting that holds a search on wires where it is not a tool."""
UNAVAILABLE = (
    "[toolwire] This conversation asks for a web search of the provider, which is not available to"
    " you. Answer without it, and say so where the answer would need it."
)
"""The note that informs the model that it has no web search."""
LOCATION_FIELDS = ("city", "region", "country", "timezone")
LOCATION_KEYS = frozenset(("type", *LOCATION_FIELDS))
"""The known fields of the object that holds a location."""
_IMPORTANT = frozenset({"allowed_domains", "blocked_domains", "location"})
"""Options that affect which pages are found."""


class WebSearchForm(Struct, frozen=True, kw_only=True):
    """How a wire asks its provider for a web search."""

    kind: str = ""
    """The type of the tool definition; empty if a search is a setting."""
    name: str = ""
    """The name of the tool, if it has one: functions must not use it."""
    options: frozenset[str] = frozenset()
    """The options that the wire can express."""
    excludes_functions: bool = False
    """True if a request cannot have functions beside it."""


def location_fields(location: JSON) -> Object:
    """The known fields of an approximate location that are set."""
    if not isinstance(location, dict):
        return {}
    return {name: location[name] for name in LOCATION_FIELDS if location.get(name)}


def domains(value: JSON) -> tuple[str, ...]:
    """The domains in a JSON list."""
    return tuple(filter(None, map(str, value))) if isinstance(value, list) else ()


def asks_for_search(conversation: Conversation) -> bool:
    """True if a request asks its provider for a web search."""
    for tool in conversation.tools:  # most requests have few: `any` would cost more
        if tool.web_search is not None:
            return True
    return SETTING in conversation.settings


def lower_web_search(
    conversation: Conversation, form: WebSearchForm | None, losses: list[Loss]
) -> Conversation:
    """A request with its web search in the form of the target.

    If the target cannot search, that is a loss, and the model gets a note.
    """
    functions = [tool for tool in conversation.tools if tool.web_search is None]
    searches = [tool for tool in conversation.tools if tool.web_search is not None]
    setting = conversation.settings.get(SETTING)
    settings = {key: value for key, value in conversation.settings.items() if key != SETTING}
    path = conversation.source.setting_paths.get(SETTING, (SETTING,))
    search = setting if isinstance(setting, WebSearch) else WebSearch()
    if searches:
        path, search = searches[0].path, searches[0].web_search or search
    reason = _why_not(form, functions)
    tools = tuple(functions)
    if form is None or reason:
        losses.append(Loss(path, reason))
        messages = _with_note(conversation.messages)
        return replace(conversation, messages=messages, tools=tools, settings=settings)
    search = _with_options(search, form, path, losses)
    if not form.kind:
        return replace(conversation, tools=tools, settings={**settings, SETTING: search})
    tool = Tool(form.name, kind=form.kind, web_search=search, source=Source(path=path))
    return replace(conversation, tools=(*tools, tool), settings=settings)


def _why_not(form: WebSearchForm | None, functions: list[Tool]) -> str:
    if form is None:
        return "this target has no web search of its own; a note tells the model"
    if functions and form.excludes_functions:
        return "a web search and functions exclude each other here; a note tells the model"
    if form.name and any(tool.name == form.name for tool in functions):
        return "a function has the name of the web search here; a note tells the model"
    return ""


def _with_options(
    search: WebSearch, form: WebSearchForm, path: JsonPath, losses: list[Loss]
) -> WebSearch:
    """A search without the options that the target cannot express."""
    for option in search.__struct_fields__:
        if option in form.options or not getattr(search, option):
            continue
        severity: LossSeverity = "loss" if option in _IMPORTANT else "info"
        losses.append(Loss(path, f"a web search has no {option} here", severity=severity))
        search = replace(search, **{option: getattr(WebSearch(), option)})
    return search


def _with_note(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with a note for the model: in the last of the system messages at the start,
    because some servers accept only one, or in a new system message."""
    count = next((n for n, message in enumerate(messages) if message.role != "system"), 0)
    if not count:
        return (Message("system", (Text(UNAVAILABLE),)), *messages)
    last = messages[count - 1]
    note = Text(UNAVAILABLE, source=Source(path=last.path))
    noted = replace(last, parts=(*last.parts, note))
    return (*messages[: count - 1], noted, *messages[count:])
