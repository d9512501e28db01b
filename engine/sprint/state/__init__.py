"""What a sprint is at one version: its plan, its knowledge, and how events change them."""
