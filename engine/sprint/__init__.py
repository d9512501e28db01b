"""The sprint: its facts, its rules and how facts change its state. Pure."""
