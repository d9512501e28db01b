"""Commands in the "Iterations" section."""
