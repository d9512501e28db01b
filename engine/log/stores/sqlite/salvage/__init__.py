"""What is sound of a damaged log, read from the pages of its files."""
