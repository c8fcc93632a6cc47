"""The parts of Gemini's contents."""

from __future__ import annotations

from toolwire.wires.families.contents.parts import ContentParts

NAME = "gemini"
PARTS = ContentParts(NAME, hidden_prefix="adk-")
