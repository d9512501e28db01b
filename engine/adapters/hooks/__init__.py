"""Hooks of agents: our entries in their configuration files, and the input of a hook."""
