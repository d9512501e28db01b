"""What others left behind as a journal."""
