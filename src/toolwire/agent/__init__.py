"""Agents: a loop over a model and its tools. The machine does no I/O; a driver executes its
commands."""
