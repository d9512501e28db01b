"""The Merkle tree over events: the vectors of RFC 6962, and proofs by a path."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.merkle import EMPTY, MerkleTree, leads_to, leaf, node

# The inputs and roots of the reference implementation of RFC 6962.
INPUTS = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243"),
        *("5051525354555657", "606162636465666768696a6b6c6d6e6f"),
    )
]
ROOTS = (
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_the_rfc(size: int) -> None:
    """The same leaves have the same root as in every other implementation."""
    assert MerkleTree(INPUTS[:size]).root.hex() == ROOTS[size - 1]


def test_an_empty_tree() -> None:
    """Without a leaf the root is the digest of nothing."""
    assert MerkleTree([]).root == EMPTY == sha256(b"").digest()
    assert node(leaf(INPUTS[0]), leaf(INPUTS[1])).hex() == ROOTS[1]


@given(st.integers(1, 70), st.data())
def test_a_path_leads_from_each_event_to_the_root(size: int, data: st.DataObject) -> None:
    """The path of an event proves it at its position, and at no other."""
    hashes = [sha256(bytes([number])).digest() for number in range(size)]
    tree = MerkleTree(hashes)
    position = data.draw(st.integers(1, size))
    path = tree.path(position)
    event = hashes[position - 1]
    assert leads_to(event, position, size, path, tree.root)
    other = data.draw(st.integers(0, size + 2).filter(lambda one: one != position))
    assert not leads_to(event, other, size, path, tree.root)
    assert not leads_to(event, position, size, [*path, bytes(32)], tree.root)
    assert not leads_to(bytes(32), position, size, path, tree.root)
    if path:
        assert not leads_to(event, position, size, path[1:], tree.root)
