"""What commands read: bodies, streams, id maps, approvals, names of wires and rules."""
