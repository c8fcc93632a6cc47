"""Run tools: the executor, the ledger of calls, and the places where tools run."""
