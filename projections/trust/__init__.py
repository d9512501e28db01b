"""What a log is trusted for: what must go is gone, and what is there can be proved."""
