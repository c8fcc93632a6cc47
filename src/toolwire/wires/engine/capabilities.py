"""What a wire can hold, as data: read by the lowering pass, which adapts a conversation to it.

A wire declares what it lacks; the default of every field is "holds it". This module knows no wire
by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from toolwire.conversation.parts import Media

Place: TypeAlias = Literal["system", "user", "assistant", "result"]
"""Where in a conversation a part is: in a message of a role, or inside a tool result."""
MediaForm: TypeAlias = Literal["data", "url", "file", "text"]
"""How a medium is given: base64 data, a URL, a provider's file id, or text."""


class MediaSupport(Struct, frozen=True, kw_only=True):
    """The media that one place of a wire holds: for each kind the forms it may be given in.

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
    """How a medium is given."""
    if media.text is not None:
        return "text"
    if media.data is not None:
        return "data"
    return "url" if media.url is not None else "file"


class Capabilities(Struct, frozen=True, kw_only=True):
    """What a wire can hold beside text, calls and results of text."""

    refusals: bool = True
    """A text can be marked as a refusal."""
    refusals_in_history: bool = True
    """So can a text of a request."""
    media: Mapping[Place, MediaSupport] | None = None
    """The media that each place holds; a place that is not listed holds none. None: no limits."""
    media_names: frozenset[str] | None = None
    """The kinds of media that keep their file name. None: all do."""
    url_names: bool = True
    """Media that are given by URL keep their file name."""
    url_types: bool = True
    """Media that are given by URL keep their MIME type."""
    kind_by_type: frozenset[MediaForm] = frozenset()
    """The forms in which only the MIME type says of which kind a medium is."""
    reasoning_in_history: bool = True
    """A request can hold reasoning of another provider."""
    reasoning_signed_by: str = ""
    """A request can hold reasoning with a signature of this maker, whichever wire it came over."""
    reasoning_in_answers: bool = True
    """A response can hold reasoning of another provider."""
    opaque_reasoning: bool = False
    """Reasoning that only another provider can read can be held all the same."""
    reasoning_texts: Literal["any", "one", "first"] = "any"
    """How many reasoning texts a message holds: any number, one, or one before everything else."""
    error_flag: bool = True
    """A result can be marked as an error."""
    result_parts: bool = True
    """A result can hold several parts; otherwise they are joined to one text."""
    result_media: Literal["inside", "after"] = "inside"
    """Media of a result stay inside it if its place holds them, or follow in a user message."""
    text_after_calls: bool = True
    """The text of a message may stand after its calls."""
    system_anywhere: bool = True
    """System messages may stand anywhere; otherwise later ones become user messages."""
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
    """Which tools a tool choice can name: any, those that are required, only one required tool, or
    none."""
    format_fields: frozenset[str] = frozenset({"name", "strict", "description"})
    """What a response format can hold beside its schema."""
    usage_fields: frozenset[str] = frozenset({"cached", "cache_write", "reasoning"})
    """The token counts that usage can hold beside input and output."""


EVERYTHING = Capabilities()
