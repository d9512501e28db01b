"""Commands in the "Begin" section."""
