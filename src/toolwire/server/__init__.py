"""ASGI applications: what is served over HTTP."""
