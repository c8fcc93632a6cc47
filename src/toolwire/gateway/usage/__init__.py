"""Usage of clients: limits of keys, prices, and a store that processes share."""
