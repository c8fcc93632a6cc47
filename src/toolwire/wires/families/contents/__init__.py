"""Content objects with parts, which two wires share."""
