"""What clients use: limits of keys, prices, and a store that processes share."""
