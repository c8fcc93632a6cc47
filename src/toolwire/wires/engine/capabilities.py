"""The capabilities of a wire as data. Lowering adapts a conversation to them.

A wire declares the features that it lacks; by default it has every feature. This module knows no
wire by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from toolwire.conversation.json import JSON
from toolwire.conversation.part_map import PartMap
from toolwire.conversation.parts import Media, Traceable
from toolwire.wires.engine.web_search import WebSearchForm

Place: TypeAlias = Literal["system", "user", "assistant", "result"]
"""Where in a conversation a part is: in a message of a role, or inside a tool result."""
MediaForm: TypeAlias = Literal["data", "url", "file", "text"]
"""The form of a medium: base64 data, a URL, a provider's file id, or text."""


class MediaSupport(Struct, frozen=True, kw_only=True):
    """The forms that one place of a wire accepts for each kind of medium.

    A file id belongs to the provider that made it, so the form `file` never counts for media of
    other wires.
    """

    image: frozenset[MediaForm] = frozenset()
    audio: frozenset[MediaForm] = frozenset()
    video: frozenset[MediaForm] = frozenset()
    file: frozenset[MediaForm] = frozenset()
    accepts: Callable[[Media], bool] | None = None
    """A further condition, such as a list of MIME types."""

    def holds(self, media: Media) -> bool:
        """True if the place can hold this medium."""
        forms: frozenset[MediaForm] = getattr(self, media.kind)
        if media_form(media) not in forms:
            return False
        return self.accepts is None or self.accepts(media)


NO_MEDIA = MediaSupport()
DATA_OR_URL: frozenset[MediaForm] = frozenset({"data", "url"})
DATA_ONLY: frozenset[MediaForm] = frozenset({"data"})


def media_form(media: Media) -> MediaForm:
    """The form of a medium."""
    if media.text is not None:
        return "text"
    if media.data is not None:
        return "data"
    return "url" if media.url is not None else "file"


class CacheBreakpoints(Struct, frozen=True, kw_only=True):
    """How a wire marks the prefixes of a prompt that its provider keeps in a cache."""

    mark: Mapping[str, JSON]
    """The mark: fields of the marked block, or of a block after it."""
    long_mark: Mapping[str, JSON]
    """The mark of a prefix with a long lifetime."""
    own_block: bool = False
    """True if the mark is a separate block after the marked one."""
    limit: int = 4
    """The maximum number of marks in one request."""
    calls: bool = True
    """A call can be marked."""
    answers: bool = True
    """A text of the assistant can be marked."""
    tools: bool = True
    """A tool definition can be marked."""
    automatic: bool = True
    """True if the provider caches nothing without a mark, so that adding marks is worthwhile."""

    def mark_block(
        self, block: JSON, part: Traceable, breakpoints: PartMap[Traceable, bool] | None
    ) -> list[JSON]:
        """The block of a part or tool with its cache mark, if it gets one."""
        if breakpoints is None or part not in breakpoints:
            return [block]
        mark = dict(self.long_mark if breakpoints[part] else self.mark)
        if self.own_block:
            return [block, mark]
        return [{**block, **mark}] if isinstance(block, dict) else [block]


CONTENT_BREAKPOINTS = CacheBreakpoints(
    mark={"prompt_cache_breakpoint": {"mode": "explicit"}},
    long_mark={"prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}},
    limit=80,
    calls=False,
    tools=False,
    automatic=False,
)
"""The marks of content blocks that two families of wires share."""


FORMAT_FIELDS = ("name", "strict", "description")
"""The fields of a response format beside its schema."""
USAGE_FIELDS = ("cached", "cache_write", "reasoning")
"""The token counts of usage beside input and output."""


class Capabilities(Struct, frozen=True, kw_only=True):
    """The features of a wire beyond text, calls and results of text."""

    refusals: bool = True
    """A text can be marked as a refusal."""
    refusals_in_history: bool = True
    """A text in a request can be marked as a refusal, too."""
    media: Mapping[Place, MediaSupport] | None = None
    """The media that each place holds; a place that is not listed holds none. None: no limits."""
    media_names: frozenset[str] | None = None
    """The kinds of media that keep their file name. None: all do."""
    url_names: bool = True
    """Media that are given by URL keep their file name."""
    url_types: bool = True
    """Media that are given by URL keep their MIME type."""
    kind_by_type: frozenset[MediaForm] = frozenset()
    """The forms in which only the MIME type shows the kind of a medium."""
    reasoning_in_history: bool = True
    """A request can hold reasoning of another provider."""
    reasoning_signed_by: str = ""
    """A request can hold reasoning and calls with a signature of this maker, from any wire."""
    reasoning_in_answers: bool = True
    """A response can hold reasoning of another provider."""
    opaque_reasoning: bool = False
    """The wire can hold reasoning that only another provider can read."""
    reasoning_texts: Literal["any", "one", "first"] = "any"
    """How many reasoning texts a message holds: any number, one, or one before everything else."""
    error_flag: bool = True
    """A result can be marked as an error."""
    result_parts: bool = True
    """A result can hold several parts; otherwise they are joined to one text."""
    hidden_id_prefix: str = ""
    """The prefix of ids that a client made for its own log; they are sent only if pairing needs
    them."""
    result_media: Literal["inside", "after"] = "inside"
    """Media of a result stay inside it if its place holds them, or follow in a user message."""
    text_after_calls: bool = True
    """The text of a message may follow its calls."""
    system_anywhere: bool = True
    """System messages may be anywhere; otherwise later ones become user messages."""
    candidates: bool = True
    """A response can hold several candidates."""
    messages_in_answers: bool = False
    """A response can hold messages of other roles than the assistant's, such as tool results."""
    tools_in_answers: bool = False
    """A response can hold tool definitions."""
    tool_definitions: bool = True
    """A request can hold tool definitions."""
    strict_tools: bool = True
    """A tool definition can be marked as strict."""
    choice_names: Literal["any", "required", "one", "none"] = "any"
    """Which tools a tool choice can name: any tools, only required ones, only one required tool, or
    none."""
    format_fields: frozenset[str] = frozenset(FORMAT_FIELDS)
    """The fields of a response format beside its schema."""
    usage_fields: frozenset[str] = frozenset(USAGE_FIELDS)
    """The token counts that usage can hold beside input and output."""
    cache_breakpoints: CacheBreakpoints | None = None
    """How prefixes of a prompt are marked for the provider's cache; None if they cannot be."""
    read_by_model: bool = True
    """True if requests of this wire are sent to a model; otherwise they are a framework's own
    record."""
    web_search: WebSearchForm | None = None
    """How a request asks the provider for a web search; None if it cannot."""
    limited_settings: frozenset[str] = frozenset()
    """The settings of which the wire cannot hold every field. They follow from the fields above."""

    def __post_init__(self) -> None:
        limits = {
            "choice": self.choice_names != "any",
            "format": not self.format_fields.issuperset(FORMAT_FIELDS),
            "usage": not self.usage_fields.issuperset(USAGE_FIELDS),
        }
        limited = frozenset(name for name, is_limited in limits.items() if is_limited)
        force_setattr(self, "limited_settings", limited)


EVERYTHING = Capabilities()
