"""Output for people: the terminal, tables, times and the pager."""
