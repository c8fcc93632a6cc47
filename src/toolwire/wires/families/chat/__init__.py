"""The chat shape: messages with tool calls in a separate field, and one message for each result."""
