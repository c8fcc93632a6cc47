"""The block shape: calls and results are content blocks, and the results of a turn share the next
message."""
