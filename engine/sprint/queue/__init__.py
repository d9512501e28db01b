"""The operators' queue of requests."""
