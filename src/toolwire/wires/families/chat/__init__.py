"""The chat shape: messages with tool calls in a field of their own, one message for each result."""
