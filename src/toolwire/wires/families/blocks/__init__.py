"""Wires whose messages are lists of content blocks: how histories are written and answers
streamed."""
