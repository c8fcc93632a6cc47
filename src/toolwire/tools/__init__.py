"""Tools that can be run: made from typed Python functions or from JSON Schemas, kept by id and version."""
