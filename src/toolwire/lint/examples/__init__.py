"""Builders for the example bodies of rules."""
