"""The protocols of tool servers: messages in, messages out. No sockets, no clocks."""
