"""The state files: their content, when they are written, and third-party edits."""
