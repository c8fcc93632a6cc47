"""A ledger in a SQLite file, for one process."""
