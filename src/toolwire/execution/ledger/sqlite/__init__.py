"""A ledger in a SQLite file, for the processes of one machine."""
