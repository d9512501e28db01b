"""`sprintlog wrap`: a command that runs at once, and a process that records it."""
