"""A small file that proves an event was in a log, to somebody who does not have it."""

from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.log import chain
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX, ERASURES
from sprintlog.engine.log.lines import event_in, line
from sprintlog.engine.log.merkle import leads_to
from sprintlog.engine.log.stores.descriptors import read_whole

from ..workspace import Workspace
from .heads import WrittenHead, parse_head, tree_of

FORMAT = "sprintlog-proof"
PATH_MAX = 64
FILE_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event, and the way from it to a head."""

    format: str
    format_version: int
    event: dict[str, Any]
    """As a line of `sprintlog export`, with the hash of the event before."""
    path: list[str]
    """The nodes of the Merkle tree on the way to the root, in hexadecimal."""
    head: str
    """The text of the head."""
    signature: str | None = None
    """The signature of the head, as `ssh-keygen` made it."""


def prove(
    workspace: Workspace, position: int, head: WrittenHead, signature: str | None
) -> bytes:
    """Return the proof that an event was there when a head was written."""
    if not 0 < position <= head.position:
        raise NotFoundError(
            f"the head is of position {head.position}: it proves nothing of {position}",
            position=position,
        )
    around = workspace.log.read(after=max(position - 2, 0), until=position)
    events = {event.position: event for event in around}
    before = events[position - 1].hash if position > 1 else chain.GENESIS
    path = tree_of(workspace.log, head.position).path(position)
    proof = Proof(
        FORMAT,
        1,
        msgspec.json.decode(line(events[position], previous=before)),
        [one.hex() for one in path],
        head.text,
        signature,
    )
    return msgspec.json.format(msgspec.json.encode(proof), indent=2) + b"\n"


def read_proof(file: Path) -> Proof:
    """Return a proof from its file; raise `InvalidInputError` for anything else."""
    try:
        proof = msgspec.json.decode(read_whole(file, at_most=FILE_BYTES_MAX), type=Proof)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"is no proof: {error}", file=str(file)) from error
    if (proof.format, proof.format_version) != (FORMAT, 1):
        raise InvalidInputError("is no proof of this version", file=str(file))
    return proof


def problems(proof: Proof, *, file: str) -> list[str]:
    """Return in words why a proof proves nothing; an empty list where it does."""
    head = parse_head(proof.head, file=file)
    try:
        event, previous = event_in(msgspec.json.encode(proof.event))
        path = [bytes.fromhex(one) for one in proof.path[: PATH_MAX + 1]]
        is_hashed = event.hash == chain.event_hash(
            previous, chain.header(event), event.payload_digest
        )
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        raise InvalidInputError(f"holds no event: {error}", file=file) from error
    found = []
    if not is_hashed:
        found.append("the event is not the one that was recorded: its hash does not fit")
    if event.payload is not None and event.salt is not None:
        said = chain.payload_digest(event.salt, event.payload)
        if said != event.payload_digest:
            found.append("what the event says is not what was recorded")
    root = bytes.fromhex(head.root)
    if not leads_to(event.hash, event.position, head.position, path, root):
        found.append("the way does not lead from the event to the head")
    return found


def is_erased(proof: Proof) -> bool:
    """Tell whether what the event said was erased: then only that it was is proved."""
    return proof.event.get("salt") is None and proof.event.get("stream") != ERASURES
