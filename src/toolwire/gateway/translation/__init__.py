"""Requests as models get them, and responses as clients get them. No I/O."""
