"""The APIs that clients speak to a gateway: one module each, and the table of their paths."""
