"""A ledger in PostgreSQL, for several processes and machines."""
