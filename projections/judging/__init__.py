"""What is known of a sprint's iterations: as data, and as reports in Markdown."""
