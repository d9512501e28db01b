"""Judged iterations of a sprint: as data, and as reports in Markdown."""
