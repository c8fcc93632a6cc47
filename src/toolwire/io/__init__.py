"""Everything that touches the world: sockets, clocks, files, threads, randomness."""
