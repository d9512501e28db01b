"""What `hooks` answers: where our hooks are, and why they may not be called."""

from msgspec import Struct


class HookNote(Struct, frozen=True):
    """Why an agent may not call its hooks, and the one thing that helps."""

    says: str
    helps: str | None = None


class HooksOfAgent(Struct, frozen=True, kw_only=True):
    """The hooks of one agent in one scope, or its server of our tools."""

    agent: str
    what: str
    """`hooks`, or `mcp` for the server of our tools."""
    scope: str
    """`project` or `user`."""
    file: str
    state: str
    """`installed`, `outdated` or `missing`."""
    events: list[str]
    """The agent's own names of what is told to sprintlog; for `mcp` the server's."""
    changed: bool = False
    """Whether the file was changed by this command, or would be."""
    done: bool = True
    """Whether it was done, or only shown."""
    notes: list[HookNote] = []


class HooksStatus(Struct, frozen=True):
    """The hooks of every agent that was asked for."""

    hooks: list[HooksOfAgent]
