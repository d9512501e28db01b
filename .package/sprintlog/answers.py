"""An agent's answer, as parsed from the output of its run, and the verdict on it."""

from .engine.sprint.answers.limits import Refusal as Refusal
from .engine.sprint.answers.verdict import (
    Answer as Answer,
    judge as judge,
    repeats as repeats,
)
