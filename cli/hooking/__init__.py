"""The `hook` command, which agents start for every tool call."""
