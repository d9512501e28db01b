"""Whether a log is sound, what is saved of a damaged one, its copies and redactions."""
