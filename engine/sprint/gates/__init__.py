"""Gates: when one is due, what it may be, what its checks lead to."""
