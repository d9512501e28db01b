"""Commands in the "What happened" section."""
