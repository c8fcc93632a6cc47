"""Edits of conversations and bodies that fixes of several rules share."""
