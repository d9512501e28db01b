"""Commands in the "Journal" section."""
