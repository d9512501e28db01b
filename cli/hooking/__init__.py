"""What `hook` does: its process starts for every tool that an agent calls."""
