"""The state files: what is written to them, when, and what others did to them."""
