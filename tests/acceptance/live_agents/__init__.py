"""Real agents' programs under `sprintlog wrap`, against a scripted model server."""
