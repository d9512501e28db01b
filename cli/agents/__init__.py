"""Commands that agents call themselves, and commands that set these calls up."""
