"""What agents call by themselves, and where that is arranged."""
