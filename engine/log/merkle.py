"""A Merkle tree over event hashes (RFC 6962), which can prove that an event is in the log.

    leaf  = sha256(0x00 ‖ event hash)
    node  = sha256(0x01 ‖ left ‖ right)

The number of leaves in a node's left subtree is the largest power of two that is less than
the node's own number of leaves.
"""

from collections.abc import Iterable, Sequence

from .. import hashes

EMPTY = hashes.sha256(b"").digest()


def leaf(event_hash: bytes) -> bytes:
    """Return the leaf for an event."""
    return hashes.sha256(b"\x00" + event_hash).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the parent of two nodes."""
    return hashes.sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """The tree of all events up to a position, in memory (32 bytes per event)."""

    def __init__(self, event_hashes: Iterable[bytes]) -> None:
        rows: list[list[bytes]] = [[leaf(one) for one in event_hashes]]
        while len(rows[-1]) > 1:
            below = rows[-1]
            pairs = zip(below[::2], below[1::2], strict=False)
            above = [node(left, right) for left, right in pairs]
            # A node without a partner is moved up, as in the tree of the RFC.
            rows.append(above + below[len(below) - len(below) % 2 :])
        self._rows = rows

    @property
    def size(self) -> int:
        """Return the number of events in the tree."""
        return len(self._rows[0])

    @property
    def root(self) -> bytes:
        """Return the root digest of all leaves."""
        return self._rows[-1][0] if self.size else EMPTY

    def path(self, position: int) -> list[bytes]:
        """Return the audit path from the leaf at a position to the root."""
        index, found = position - 1, []
        for row in self._rows[:-1]:
            beside = index ^ 1
            if beside < len(row):
                found.append(row[beside])
            index //= 2
        return found


def leads_to(
    event_hash: bytes, position: int, size: int, path: Sequence[bytes], root: bytes
) -> bool:
    """Return whether an audit path proves that an event is at a position in the tree."""
    if not 0 < position <= size:
        return False
    index, last, found = position - 1, size - 1, leaf(event_hash)
    left = list(path)
    while last:
        if index % 2 or index < last:
            if not left:
                return False
            beside = left.pop(0)
            found = node(beside, found) if index % 2 else node(found, beside)
        index, last = index // 2, last // 2
    return not left and found == root
