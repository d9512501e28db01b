"""Reports on iterations: as Markdown, and as the files of a loop."""
