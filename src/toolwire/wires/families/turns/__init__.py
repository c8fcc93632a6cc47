"""The turn shape: every turn is one message object, and the results of a turn follow it in one
message."""
