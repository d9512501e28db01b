"""The state files: their bytes, when they are written, and edits by others."""
