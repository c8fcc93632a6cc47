"""Input of commands: bodies, streams, id maps, approvals, names of wires and rules."""
