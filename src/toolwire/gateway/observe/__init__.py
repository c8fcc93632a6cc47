"""Observability of a gateway: the log, metrics, traces and recorded requests."""
