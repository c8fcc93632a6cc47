"""The RPC shape: requests and responses of a tool protocol, in a log."""
