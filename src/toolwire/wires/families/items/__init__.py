"""The item shape: one flat list in which every message, call, result and reasoning is an item."""
