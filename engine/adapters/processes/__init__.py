"""Programs of others, run within a time and to their end."""
