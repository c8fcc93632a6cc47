"""Strict mocks of providers' servers, and the offline model that answers in them."""
