"""What can be asked of a log beside by a process for each question."""
