"""Everything known of a sprint at a point of the log, gathered for pages and reports."""
