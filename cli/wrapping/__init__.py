"""The `wrap` command, which runs a command immediately; another process records it."""
