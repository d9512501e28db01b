"""All known facts about a sprint at a point in the log, collected for pages and reports."""
