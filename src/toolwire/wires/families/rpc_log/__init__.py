"""The RPC shape: calls and results as requests and responses of a tool protocol, in a log."""
