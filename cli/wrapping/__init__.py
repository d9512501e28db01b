"""The `wrap` command: it starts a command immediately, and a process that records it."""
