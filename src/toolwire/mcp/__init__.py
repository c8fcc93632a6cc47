"""The Model Context Protocol: tools and calls without I/O, a client and a server."""
