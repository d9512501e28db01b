"""Commands of the section Iterations."""
