"""What the rules must know of a journal, and what its parts look like."""
