"""Gates: scripts that must pass before a phase is finished; rules and evolve."""

GATE_RETRIES = 3
"""How often a gate is tried again after a failure, unless it says otherwise (R37)."""
GATE_TIMEOUT_SECONDS = 60
"""How long a gate's script may take, unless it says otherwise (R38)."""
