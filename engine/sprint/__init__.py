"""The sprint: its events, its rules and how events change its state. Pure."""
