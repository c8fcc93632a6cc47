"""Files of whole sessions: of coding agents, of this library, message lists, logs.

A file holds one or more histories. Each is found with its wire, and an edited history is written
back so that only the changed lines of the file change. `session` does the I/O; all other modules
take and return bytes and values.
"""
