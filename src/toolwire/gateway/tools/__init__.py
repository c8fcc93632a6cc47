"""Tools of the gateway: every model can call them, and the gateway runs them."""
