"""Commands of the section Keep it sound."""
