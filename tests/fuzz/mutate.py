"""Inputs close to known ones, with parts inserted, removed, duplicated and truncated."""

from typing import NamedTuple

from hypothesis import strategies as st

PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b",", b"-", b"\n", b"\r", b"\t", b"\0"),
    *(b"null", b"true", b"-0", b"1e999", b"0x", b"NaN", b"9" * 40, b"\xff", b"\xc3"),
    *(
        b"\\ud800",
        b"\\u0000",
        "\ufeff".encode(),
        "\u202e".encode(),
        b"<!--",
        b"&a;",
        b"%00",
    ),
    *(b"[" * 400, b'{"a":' * 400, b"- " * 400, b"<a>" * 400, b"a" * 5000, b"\n" * 3000),
    *(b"../", b"/etc/passwd", b"&a *a", b"!!python/object:x", b"{{", b"eyJ" * 300),
)


class Change(NamedTuple):
    """One thing done to an input."""

    where: float
    how: int
    length: int
    piece: bytes


def changed(given: bytes, changes: list[Change]) -> bytes:
    """Return an input after some mutations."""
    for where, how, length, piece in changes:
        at = int(where * len(given))
        end = min(at + length, len(given))
        if how == 0:
            given = given[:at] + piece + given[at:]
        elif how == 1:
            given = given[:at] + given[end:]
        elif how == 2:
            given = given[:at] + piece + given[end:]
        elif how == 3:
            given = given[:end] + given[at:end] * 3 + given[end:]
        else:
            given = given[:at]
    return given


def near(corpus: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return inputs that are near those of a corpus."""
    change = st.builds(
        Change,
        st.floats(0, 1, exclude_max=True),
        st.sampled_from((0, 0, 1, 2, 2, 3, 4)),
        st.integers(1, 40),
        st.sampled_from(PIECES) | st.binary(min_size=1, max_size=6),
    )
    changes = st.lists(change, max_size=4)
    return st.builds(changed, st.sampled_from(corpus), changes) | st.binary(max_size=200)
