"""How git is called, and repositories of others are read."""
