"""One page of a sprint: what the answers of the commands say, as one file of HTML."""
