"""A primary and a standby of it, by streaming replication, at one address."""

import time
from collections.abc import Callable
from contextlib import closing

import psycopg

from .conftest import made
from .server import NEWEST, Server, programs_of

TRIES = 1000


class Pair:
    """A primary and its standby, at one address for whichever accepts writes."""

    def __init__(self) -> None:
        self.primary = Server(programs_of(NEWEST))
        self.standby = Server(programs_of(NEWEST), standby_of=self.primary)

    def be_waited_for(self) -> None:
        """Make every commit wait for the standby."""
        self._set("synchronous_standby_names", "'*'")
        until(self.primary, "SELECT bool_or(sync_state = 'sync') FROM pg_stat_replication")

    def _set(self, name: str, value: str) -> None:
        with psycopg.connect(self.primary.url(), autocommit=True) as raw:
            raw.execute(f"ALTER SYSTEM SET {name} = {value}")
            raw.execute("SELECT pg_reload_conf()")

    def is_behind(self) -> bool:
        """Return whether the standby lacks events of the primary."""
        asked = (
            "SELECT coalesce(bool_or(replay_lsn < pg_current_wal_flush_lsn()), true)"
            " FROM pg_stat_replication"
        )
        return bool(asked_of(self.primary, asked))

    def url(self, log: str, *, port: int | None = None) -> str:
        """Return the address of both; with `port`, the primary is behind a proxy."""
        ports = f"{port or self.primary.port},{self.standby.port}"
        return (
            f"postgresql://owner@/postgres?host=127.0.0.1,127.0.0.1&port={ports}&log={log}"
            "&target_session_attrs=read-write&sslmode=disable&gssencmode=disable"
        )

    def new_log(self) -> str:
        """Create a log that the standby also has, and return its name."""
        with closing(made(self.primary.new_url())) as log:
            name = log.address.log
        wait_while(self.is_behind)
        return name

    def remove(self) -> None:
        """Stop both and remove their folders."""
        self.standby.remove()
        self.primary.remove()

    def fail_over(self) -> None:
        """Crash the primary permanently, and promote the standby."""
        self.primary.stop("immediate")
        self.standby.promote()


def asked_of(server: Server, sql: str) -> object:
    """Return the single value of a query to a server."""
    with psycopg.connect(server.url(), autocommit=True) as raw:
        ((value,),) = raw.execute(sql).fetchall()
    return value


def wait_while(is_so: Callable[[], bool]) -> None:
    """Wait until a condition no longer holds, for a limited time."""
    for _ in range(TRIES):
        if not is_so():
            return
        time.sleep(0.02)
    raise AssertionError("it stays so")


def until(server: Server, sql: str) -> None:
    """Wait until a server answers yes."""
    wait_while(lambda: not asked_of(server, sql))
