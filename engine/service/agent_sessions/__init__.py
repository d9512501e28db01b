"""What agents' hooks tell: recorded at once, or kept until the log can take it."""
