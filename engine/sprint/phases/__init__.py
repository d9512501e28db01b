"""Phases, steps and sub-phases, and the life of the sprint around them."""
