"""The server hashes exactly the same bytes as the client."""

from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sprintlog.engine.log.chain import encode_header, event_hash, payload_digest
from tests.lengths import examples

from .headers import compared, headers
from .server import TRIED, Server, server, why_not

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=160)
NUMBER = st.integers(0, 2**63 - 1) | st.sampled_from(
    [n + d for n in (2**7, 2**8, 2**16, 2**32) for d in (-1, 0, 1)]
)
SMALL = st.integers(0, 2**31 - 1)
ROWS = st.tuples(
    NUMBER, TEXT, NUMBER, TEXT, TEXT, SMALL, TEXT, TEXT, TEXT, TEXT, TEXT,
    st.none() | TEXT, st.none() | st.binary(max_size=255), SMALL, st.booleans(),
)  # fmt: skip


@pytest.fixture(scope="module", params=TRIED)
def connection(request: pytest.FixtureRequest) -> Any:
    """Provide a connection to a database with the functions of a log."""
    if reason := why_not(request.param):
        pytest.skip(reason)
    yield from _connected(server(request.param))


def _connected(pg: Server) -> Any:
    from .conftest import made

    made(pg.new_url()).close()
    with psycopg.connect(pg.url(), autocommit=True) as connection:
        yield connection


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=20))
def test_the_header_is_ours(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    """Any envelope has the same bytes on the server and on the client."""
    assert headers(connection, rows) == [encode_header(row) for row in rows]


@settings(max_examples=examples(20), deadline=None)
@given(salt=st.binary(max_size=32), payload=st.binary(max_size=2000), row=ROWS)
def test_the_hash_is_ours(
    connection: Any, salt: bytes, payload: bytes, row: tuple[Any, ...]
) -> None:
    """The chain's hash of any event is the same there and here."""
    ((there,),) = connection.execute(
        "SELECT sha256(%b || sprintlog.header(" + ", ".join(["%b"] * 15) + ")"
        " || sha256(%b::bytea || %b::bytea))",
        (bytes(32), *row[:5], row[5], *row[6:13], row[13], row[14], salt, payload),
    ).fetchall()
    ours = event_hash(bytes(32), encode_header(row), payload_digest(salt, payload))
    assert there == ours


def test_many_random_headers_are_ours(connection: Any) -> None:
    """Two thousand envelopes of every length class, nulls and other scripts among them."""
    assert compared(connection, 2_000, seed=1) == 0


@pytest.mark.parametrize("row", [
    (1, "s" * 641, 1, *["t"] * 2, 1, *["t"] * 5, None, None, 0, False),
    (1, "s", 1, *["t"] * 2, 1, *["t"] * 5, "key", bytes(256), 0, False),
])  # fmt: skip
def test_what_no_envelope_may_hold_has_no_header(
    connection: Any, row: tuple[Any, ...]
) -> None:
    """A text or digest longer than any field has no hash, rather than a wrong one."""
    assert headers(connection, [row]) == [None]
