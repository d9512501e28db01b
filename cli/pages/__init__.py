"""What is drawn: the page of a sprint, its drawings, and the live view in a terminal."""
