"""Services that commands start: tools from files and servers, ledgers, servers that listen."""
