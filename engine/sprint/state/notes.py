"""Notes for the working agent: their delivery, and the agent's acknowledgement.

A delivery is recorded before the note is passed on, so it is unknown until it is confirmed:
by the agent's recorded run, or by the process that passed the note on. An unknown delivery
is repeated once, with a mark.
"""

from typing import Any

import msgspec

from ...log.event import Event, Takers
from .. import events as f

UNDELIVERED, UNKNOWN, DELIVERED = "undelivered", "unknown", "delivered"
ACKNOWLEDGED = "acknowledged"
CHARS_MAX = 4_000
"""The maximum length of a note."""
PROMPT_CHARS_MAX = 12_000
"""The maximum length of the notes in a prompt; the others wait for the next prompt."""
SENDS_MAX = 2
RUN, NEXT = "run/", "next"
"""The recipients: a run of the loop, followed by its id, and the caller of `next`; other
recipients are the streams of sessions."""


class AgentNote(msgspec.Struct, array_like=True):
    """A note for the working agent."""

    text: str
    by_agent: bool = False
    now: bool = False
    state: str = UNDELIVERED
    to: str = ""
    """The recipient of the last delivery."""
    sends: int = 0
    """The number of deliveries, except to agents that could not work because of a limit."""
    is_awaited: bool = False
    """Whether the agent with the note in its prompt has not ended, as far as is known."""

    @property
    def is_certain(self) -> bool:
        """Return whether the note was certainly delivered."""
        return self.state in (DELIVERED, ACKNOWLEDGED)

    def settle(self, ran: f.AgentRan, run: f.RunStarted | None) -> None:
        """Update the delivery to an agent of a run of the loop after its end."""
        is_of_loop = ran.turn is None and ran.found_in is None and not ran.is_rest
        if not self.is_awaited or not is_of_loop:
            return
        self.is_awaited = False
        if run is None or self.to != f"{RUN}{run.run}" or self.state != UNKNOWN:
            return
        if ran.limit is not None:
            self.sends -= 1
        elif ran.interrupted_by is None and (ran.output_bytes or ran.errors):
            self.state = DELIVERED


def deliver(notes: dict[str, AgentNote], to: str, *, may_repeat: bool) -> list[Event]:
    """Return the deliveries that are due, the urgent ones first.

    With `may_repeat`, unknown deliveries are repeated, because no agent can be working on
    them any more.
    """
    due, left = list[Event](), PROMPT_CHARS_MAX
    for identity, note in sorted(notes.items(), key=lambda one: not one[1].now):
        again = may_repeat and note.state == UNKNOWN and note.sends < SENDS_MAX
        if again or note.state == UNDELIVERED:
            if (left := left - len(note.text)) < 0:
                break
            due.append(f.NoteDelivered(identity, to, repeated=note.to != ""))
    return due


def confirm(notes: dict[str, AgentNote], to: str) -> list[Event]:
    """Return the confirmations of the deliveries to a recipient."""
    found = (i for i, note in notes.items() if (note.state, note.to) == (UNKNOWN, to))
    return [f.NoteDelivered(identity, to, confirmed=True) for identity in found]


def acknowledge(notes: dict[str, AgentNote], named: tuple[str, ...]) -> list[Event]:
    """Return the acknowledgements of those notes that were sent."""
    sent = {i for i, note in notes.items() if note.to and note.state != ACKNOWLEDGED}
    return [f.NoteAcknowledged(one) for one in dict.fromkeys(named) if one in sent]


def _record(knowledge: Any, event: Any, version: int) -> None:
    notes: dict[str, AgentNote] = knowledge.notes
    if isinstance(event, f.NoteAdded):
        if event.to_agent is not None:
            notes[event.to_agent] = AgentNote(event.text, event.by_agent, event.now)
    elif (note := notes.get(event.id)) is None:
        # A fork does not contain the pending notes of the copied sprint.
        return
    elif isinstance(event, f.NoteAcknowledged):
        note.state = ACKNOWLEDGED
    elif not event.confirmed:
        note.state, note.to, note.sends = UNKNOWN, event.to, note.sends + 1
        note.is_awaited = True
    elif note.state == UNKNOWN:
        note.state = DELIVERED


LEARN: Takers = dict.fromkeys((f.NoteAdded, f.NoteDelivered, f.NoteAcknowledged), _record)
"""The handlers that update the knowledge, regardless of rollbacks."""
