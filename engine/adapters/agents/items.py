"""What an agent's output says, whoever the agent is."""

from enum import IntEnum

import msgspec

from ...iterations.events import Usage


class FigureSpan(IntEnum):
    """What a figure is of. A wider one stands for all the narrower ones within it."""

    CALL = 1
    """One answer of the model."""
    TURN = 2
    """One turn of the run."""
    SESSION = 3
    """All of a session so far: a later figure replaces it."""


class Session(msgspec.Struct, frozen=True):
    """From here on the output is of this session."""

    id: str


class Said(msgspec.Struct, frozen=True):
    """The agent said something to whoever runs it."""

    text: str
    goes_on: bool = False
    """Whether it goes on with the words right before it."""


class Called(msgspec.Struct, frozen=True):
    """The agent called a tool: the words before it are not its last."""


class Used(msgspec.Struct, frozen=True):
    """What something cost, as far as the agent says."""

    usage: Usage
    span: FigureSpan
    key: str | None = None
    """Names what it is of: the same again is counted once. For a session its id."""
    part: int | None = None
    """Which turn of the session it is, from 0: they are added up when none is missing."""


class AgentEnded(msgspec.Struct, frozen=True):
    """The agent says that it is done, or that it failed."""

    text: str | None = None
    """Its final words; without them they are those that it said last."""
    failed: bool = False
    error: str | None = None
    """Why it failed; without it, what it named before."""


Item = Session | Said | Called | Used | AgentEnded
Items = tuple[Item, ...]
