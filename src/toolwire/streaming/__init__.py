"""Streams: framing, neutral events, folding a stream to a body, and translating it while
it runs.
"""
