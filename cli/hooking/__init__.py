"""The `hook` command, which is started for every tool call of an agent."""
