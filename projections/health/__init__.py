"""Whether a log is sound, what is saved of one that is not, and a log as a file."""
