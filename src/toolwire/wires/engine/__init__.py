"""What all wires are built from: block specs, settings, capabilities, the encode context and stream
parts."""
