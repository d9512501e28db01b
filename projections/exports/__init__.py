"""The log for other tools, each in its own form."""
