"""The chat shape: a message has a list of tool calls, and each result is a message of its own."""
