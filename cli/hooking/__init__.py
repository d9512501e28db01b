"""The `hook` command, which agents run for every tool call."""
