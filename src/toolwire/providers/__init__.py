"""Providers of models: where they are, how their requests are signed, and the HTTP client."""
