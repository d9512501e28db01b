"""The page of a sprint: the commands' answers in a single HTML file."""
