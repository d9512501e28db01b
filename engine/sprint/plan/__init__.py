"""How a plan comes in, changes and grows."""
