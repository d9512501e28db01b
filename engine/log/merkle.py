"""A Merkle tree over the hashes of events, in the shape of RFC 6962: it proves one event.

    leaf  = sha256(0x00 ‖ hash of the event)
    node  = sha256(0x01 ‖ left ‖ right)

The left side of a node holds the largest power of two that is less than its leaves.
"""

from collections.abc import Iterable, Sequence

from .. import hashes

EMPTY = hashes.sha256(b"").digest()


def leaf(event_hash: bytes) -> bytes:
    """Return the leaf of an event."""
    return hashes.sha256(b"\x00" + event_hash).digest()


def node(left: bytes, right: bytes) -> bytes:
    """Return the node above two others."""
    return hashes.sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """The tree of all events up to a position, in memory: 32 bytes for each of them."""

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
        """Return how many events it stands for."""
        return len(self._rows[0])

    @property
    def root(self) -> bytes:
        """Return the digest of all leaves."""
        return self._rows[-1][0] if self.size else EMPTY

    def path(self, position: int) -> list[bytes]:
        """Return the nodes by which the leaf at a position leads to the root."""
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
    """Return whether an event is at a position of the tree with a size and a root."""
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
