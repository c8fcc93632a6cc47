"""Wires whose messages are lists of content blocks: how they write histories and stream answers."""
