"""Agents: what a turn is, what comes next. No sockets, no clocks: drivers bring those."""
