"""The only place that changes anything: commands handled, and files of the work tree."""
