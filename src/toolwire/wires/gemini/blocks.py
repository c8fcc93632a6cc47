"""The parts of Gemini's contents."""

from __future__ import annotations

from msgspec.structs import replace

from toolwire.wires.engine.web_search import WebSearchForm
from toolwire.wires.families.contents.parts import CAPABILITIES as CONTENTS
from toolwire.wires.families.contents.parts import ContentParts

NAME = "gemini"
_ADK_ID = "adk-"
PARTS = ContentParts(NAME, hidden_prefix=_ADK_ID)
WEB_SEARCH = WebSearchForm(kind="googleSearch", excludes_functions=True)
CAPABILITIES = replace(
    CONTENTS,
    hidden_id_prefix=_ADK_ID,
    reasoning_in_history=False,
    choice_names="required",
    format_fields=frozenset(),
    web_search=WEB_SEARCH,
)
