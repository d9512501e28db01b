"""What every extension of a kind has to do, as functions that a package's tests call."""
