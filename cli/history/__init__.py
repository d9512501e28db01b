"""Commands of the section What happened."""
