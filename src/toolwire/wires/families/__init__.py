"""The shapes that several wires share."""
