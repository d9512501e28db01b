"""The runs of the loop: how one begins and ends, and what it may spend."""
