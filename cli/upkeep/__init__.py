"""Commands in the "Keep it sound" section."""
