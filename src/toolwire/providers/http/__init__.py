"""A pooled HTTP/1.1 client for the servers of models."""
