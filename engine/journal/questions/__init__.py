"""What is asked of a journal."""
