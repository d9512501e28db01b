"""Commands in the "Work" section."""
