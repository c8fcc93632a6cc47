"""Run tools as standalone activities of Temporal."""
