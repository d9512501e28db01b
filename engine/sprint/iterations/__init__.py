"""The iterations of a sprint's loop, and going back between them."""
