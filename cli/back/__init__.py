"""Commands in the "Go back" section."""
