"""Tokens, cost and duration of agent runs and model calls."""

from .engine.usage import (
    ModelCall as ModelCall,
    Usage as Usage,
    lower_bounds as lower_bounds,
    merged as merged,
    known_sum as known_sum,
    summed as summed,
    tokens_of as tokens_of,
)
