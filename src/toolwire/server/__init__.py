"""Shared parts of all ASGI applications: bodies, hosts, authentication, limits, running."""
