"""Rules of ids and names that several providers share."""

from __future__ import annotations

from toolwire.conversation.id_rules import IdRule

WORD = "a-zA-Z0-9_-"
"""Letters, digits, underscore and hyphen."""
ANY = IdRule()
NAME = IdRule(WORD, 64)
DOTTED = IdRule("a-zA-Z0-9_.:-", 64, first="[a-zA-Z_]")
