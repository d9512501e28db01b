"""Heads of a log for signing, and files that prove that an event was in the log.

    sprintlog-head 1
    log: the id of its first event
    position: the last event
    hash: the hash of the last event, which covers all earlier events
    root: the root of the Merkle tree over all events
    time: when the head was written

OpenSSH creates the signatures (`ssh-keygen -Y`), using an agent, a hardware key or a key
file.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log import chain
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX, ERASURES, Head, RecordedEvent
from sprintlog.engine.log.lines import event_in, line
from sprintlog.engine.log.merkle import MerkleTree, leads_to
from sprintlog.engine.log.port import EventStore
from sprintlog.engine.log.stores.descriptors import read_whole

from ..views.log import WrittenHead
from ..workspace import Workspace

NAMESPACE = "sprintlog-head"
"""The purpose of the signatures; signatures for other purposes are rejected."""
TRAILER = "Sprintlog-Head"
FIRST = "sprintlog-head 1"
SECONDS_MAX = 120.0
_HASH = RecordedEvent.__struct_fields__.index("hash")
_LINE = re.compile(
    rf"{FIRST}\nlog: (?P<log>[0-9a-f-]{{36}}|-)\n"
    r"position: (?P<position>0|[1-9]\d{0,17})\nhash: (?P<hash>[0-9a-f]{64})\n"
    r"root: (?P<root>[0-9a-f]{64})\ntime: (?P<time>\S{1,40})\n",
    re.ASCII,
)
_TRAILED = re.compile(rf"{TRAILER}: (\d{{1,18}}):([0-9a-f]{{16,64}})", re.ASCII)


def text_of(head: WrittenHead) -> str:
    """Return a head in the format that is signed."""
    return (
        f"{FIRST}\nlog: {head.log}\nposition: {head.position}\n"
        f"hash: {head.hash}\nroot: {head.root}\ntime: {head.time}\n"
    )


def tree_of(log: EventStore, size: int) -> MerkleTree:
    """Return the Merkle tree over the first `size` events of a log."""
    return MerkleTree(bytes(row[_HASH]) for page in log.pages(until=size) for row in page)


def head_of(workspace: Workspace) -> WrittenHead:
    """Return the current head of a log."""
    head = workspace.log.head()
    first = next(workspace.log.read(until=1), None)
    root = tree_of(workspace.log, head.position).root
    name = first.id if first else "-"
    return WrittenHead(name, head.position, head.hash.hex(), root.hex(), workspace.now())


def read_head(file: Path) -> WrittenHead:
    """Return the head in a file; raise `InvalidInputError` for any other content."""
    try:
        text = read_whole(file, at_most=FILE_BYTES_MAX).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"cannot be read: {error}", file=str(file)) from error
    return parse_head(text, file=str(file))


def parse_head(text: str, *, file: str) -> WrittenHead:
    """Parse a head from text; raise `InvalidInputError` if the text is not a head."""
    match = _LINE.fullmatch(text)
    if match is None:
        raise InvalidInputError(
            "not a head file: use `sprintlog verify head` to write one", file=file
        )
    name, position, digest, root, time = match.groups()
    return WrittenHead(name, int(position), digest, root, time)


def sign(file: Path, key: Path, environment: Mapping[str, str]) -> Path:
    """Sign a file with OpenSSH; return the path of the signature."""
    made = file.with_name(f"{file.name}.sig")
    made.unlink(missing_ok=True)
    call = ("-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(file))
    _ssh_keygen(call, environment, "the head is not signed")
    return made


def check_signature(
    content: bytes, signature: Path, signers: Path, environment: Mapping[str, str]
) -> str:
    """Return the allowed signer of the bytes; raise `RefusedError` if there is none."""
    found = ("-Y", "find-principals", "-s", str(signature), "-f", str(signers))
    said = _ssh_keygen(found, environment, "its key is not among the allowed signers")
    who = said.splitlines()[0].strip() if said.strip() else ""
    call = ("-Y", "verify", "-f", str(signers), "-I", who, "-n", NAMESPACE)
    wrong = "the signature does not match these bytes or is not for a sprintlog head"
    _ssh_keygen((*call, "-s", str(signature)), environment, wrong, given=content)
    return who


def compare(workspace: Workspace, head: WrittenHead) -> Iterator[str]:
    """Yield the differences between a log and a head."""
    log = workspace.log
    first = next(log.read(until=1), None)
    if first is None or first.id != head.log:
        yield "it is the head of another log"
        return
    last = log.head().position
    if last < head.position:
        yield f"the log ends at position {last}: its end was cut off"
        return
    if not log.holds(Head(head.position, bytes.fromhex(head.hash))):
        yield f"position {head.position} has another hash: what came before was changed"
    elif tree_of(log, head.position).root.hex() != head.root:
        yield "the events before it are not those of then"


def trailer(head: WrittenHead) -> str:
    """Return the commit message trailer that records the head."""
    return f"{TRAILER}: {head.position}:{head.hash}"


def witnessed(workspace: Workspace) -> tuple[int, list[tuple[str, str]]]:
    """Return how often commits name a head, and the commits that name an unknown head.

    A commit names a head in a message trailer or in a note.
    """
    repository = repository_around(workspace.location.root)
    if repository is None:
        raise NotFoundError("the work tree is not in a git repository")
    trailers = f"%(trailers:key={TRAILER},separator=%x20)"
    call = ("log", "--all", "--notes=*", f"--format=%H%x00{trailers} %N%x1e")
    with borrowed(repository, workspace.environment) as git:
        told = git.read(*call).decode("utf-8", "replace").split("\x1e")
    count, wrong = 0, []
    for one in told:
        commit, _, said = one.strip().partition("\0")
        for position, digest in _TRAILED.findall(said):
            count += 1
            number = int(position)
            event = next(workspace.log.read(after=number - 1, until=number), None)
            if event is None or not event.hash.hex().startswith(digest):
                what = "the log has no such event" if event is None else "has another hash"
                wrong.append((commit, f"position {number}: {what}"))
    return count, wrong


def _ssh_keygen(
    call: tuple[str, ...],
    environment: Mapping[str, str],
    problem: str,
    *,
    given: bytes | None = None,
) -> str:
    try:
        done = subprocess.run(
            ["ssh-keygen", *call],
            input=given,
            env=dict(environment),
            capture_output=True,
            check=False,
            timeout=SECONDS_MAX,
        )
    except FileNotFoundError as error:
        raise RefusedError(
            f"{problem}: ssh-keygen is not installed", hint="install OpenSSH 8.2 or newer"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise RefusedError(f"{problem}: ssh-keygen timed out") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise RefusedError(f"{problem}: {lines[-1] if lines else 'ssh-keygen failed'}")
    return done.stdout.decode(errors="replace")


FORMAT = "sprintlog-proof"
PATH_MAX = 64
FILE_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event, and the path from it to a head."""

    format: str
    format_version: int
    event: dict[str, Any]
    """The event as exported by `sprintlog store export`, with the previous event's hash."""
    path: list[str]
    """The nodes on the path to the root of the Merkle tree, in hexadecimal."""
    head: str
    """The text of the head."""
    signature: str | None = None
    """The signature of the head in the format of `ssh-keygen`."""


def prove(
    workspace: Workspace, position: int, head: WrittenHead, signature: str | None
) -> bytes:
    """Return the proof that an event was in the log when a head was written."""
    if not 0 < position <= head.position:
        raise NotFoundError(
            f"the head is at position {head.position} and cannot prove position {position}",
            position=position,
        )
    around = workspace.log.read(after=max(position - 2, 0), until=position)
    events = {event.position: event for event in around}
    before = events[position - 1].hash if position > 1 else chain.GENESIS
    proof = Proof(
        FORMAT,
        1,
        msgspec.json.decode(line(events[position], previous=before)),
        [one.hex() for one in tree_of(workspace.log, head.position).path(position)],
        text_of(head),
        signature,
    )
    return msgspec.json.format(msgspec.json.encode(proof), indent=2) + b"\n"


def read_proof(file: Path) -> Proof:
    """Return the proof in a file; raise `InvalidInputError` for any other content."""
    try:
        proof = msgspec.json.decode(read_whole(file, at_most=FILE_BYTES_MAX), type=Proof)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"is not a proof: {error}", file=str(file)) from error
    if (proof.format, proof.format_version) != (FORMAT, 1):
        raise InvalidInputError("has an unsupported proof version", file=str(file))
    return proof


def problems(proof: Proof, *, file: str) -> list[str]:
    """Return the reasons why a proof is invalid; an empty list if it is valid."""
    head = parse_head(proof.head, file=file)
    try:
        event, previous = event_in(msgspec.json.encode(proof.event))
        path = [bytes.fromhex(one) for one in proof.path[: PATH_MAX + 1]]
        is_hashed = event.hash == chain.event_hash(
            previous, chain.header(event), event.payload_digest
        )
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        raise InvalidInputError(f"contains no valid event: {error}", file=file) from error
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
    """Return whether the event's text was erased, so that only its existence is proved."""
    return proof.event.get("salt") is None and proof.event.get("stream") != ERASURES
