"""What the transcripts that agents keep bring to a sprint: iterations, and tokens."""
