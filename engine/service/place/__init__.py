"""Where a log and its state files are, and whose they are."""
