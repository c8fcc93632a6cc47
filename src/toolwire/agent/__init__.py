"""Agents: a model, its tools, and the loop that runs them. `machine.py` decides the next step
without I/O; `driver.py` carries it out."""
