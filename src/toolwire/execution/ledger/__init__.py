"""The ledger: a durable record of calls by call id, which makes the id an idempotency key."""
