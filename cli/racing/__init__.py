"""Commands for races: several attempts at the same work."""
