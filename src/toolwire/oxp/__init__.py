"""OXP, the Open Tool Calling protocol: the protocol without I/O, a client and a server."""
