"""What operators see of a gateway: the log, metrics, traces and recorded requests."""
