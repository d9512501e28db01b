"""Commands that agents call, and commands that set up these calls."""
