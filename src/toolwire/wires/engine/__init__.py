"""The engine of all wires: block specs, settings, capabilities, the encode context and streams."""
