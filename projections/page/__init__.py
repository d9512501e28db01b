"""A sprint's page: the commands' answers in a single HTML file."""
