"""What all ASGI applications of toolwire share: bodies, hosts, authentication, limits, running."""
