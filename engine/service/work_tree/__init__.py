"""The files of the work tree: kept at the end of an iteration, and brought back."""
