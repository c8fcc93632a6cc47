"""Streams: framing, neutral events, joining a stream into a body, and live translation."""
