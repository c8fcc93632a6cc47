"""Histories that providers refused, rebuilt from public reports: one module per wire."""
