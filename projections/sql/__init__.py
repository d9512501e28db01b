"""SQL and full-text copies of the log, which are never the source of truth."""
