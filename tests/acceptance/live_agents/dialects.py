"""The common parts of the model servers' dialects: the request and the frames."""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .plays import named_in

_FOLDER = re.compile(r"\bat:(/[\w./-]+)")


class Turn(NamedTuple):
    """One message of a conversation."""

    is_model: bool
    text: str
    """Only what somebody said; answers of tools are left out."""


class Asked(NamedTuple):
    """The request of an agent."""

    dialect: str
    model: str
    play: str | None
    step: int
    """How often the model has answered since the play was named."""
    conversation: str
    """The words that named the play; a subagent's are its own."""
    folder: str
    tools: frozenset[str]
    freeform: frozenset[str] = frozenset()
    """Tools that take plain text in place of fields."""


def asked(
    dialect: str,
    model: str,
    turns: Iterable[Turn],
    *,
    tools: Iterable[str],
    freeform: Iterable[str] = (),
) -> Asked:
    """Return the task in a conversation."""
    play, step, conversation, folder = None, 0, "", ""
    for turn in turns:
        if turn.is_model:
            step += 1
        elif named := named_in(turn.text):
            play, step, conversation = named, 0, turn.text
        if found := _FOLDER.search(turn.text):
            folder = found[1]
    names = frozenset(tools)
    if not names:
        # A request without tools is not work; the agent may be asking for a title.
        play = None
    return Asked(
        dialect, model, play, step, conversation, folder, names, frozenset(freeform)
    )


def words(content: Any) -> str:
    """Return the text of a message whose content is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(p["text"]) for p in parts if isinstance(p, dict) and "text" in p)


def frame(data: Any, event: str | None = None) -> bytes:
    """Return one event of a stream."""
    head = f"event: {event}\n" if event else ""
    content = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {content}\n\n".encode()
