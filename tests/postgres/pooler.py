"""PgBouncer in transaction mode before a server, as a process of our own."""

import shutil
import socket
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from .server import NEWEST, NoServerError, Server, free_port, server, somebody

POOL_SIZE = 3
_SETTINGS = """
[databases]
* = host={folder} port={port} user=owner
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 200
logfile = {log}
"""
_numbers = count(1)


class Pooler:
    """Hands a few connections of a server to many clients, one transaction at a time."""

    def __init__(self, behind: Server) -> None:
        program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
        if program is None:
            raise NoServerError("pgbouncer is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="sprintlog-pooler-"))
        self.port = free_port()
        settings = self.folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                folder=behind.folder, port=behind.port, own=self.port, size=POOL_SIZE,
                log=self.folder / "log",
            )
        )  # fmt: skip
        given: dict[str, Any] = {}
        if (user := somebody()) is not None:
            shutil.chown(self.folder, user.pw_uid, user.pw_gid)
            given = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._process = subprocess.Popen(
            [program, "-q", str(settings)], cwd="/", stdin=subprocess.DEVNULL, **given
        )
        self._wait_for()

    def url(self, log: str) -> str:
        """Return the address of a log through it."""
        return (
            f"postgresql://owner@127.0.0.1:{self.port}/postgres?log={log}"
            "&sslmode=disable&gssencmode=disable"
        )

    def new_url(self) -> str:
        """Return the address of a log that does not exist yet."""
        return self.url(f"pooled-{self.port}-{next(_numbers)}")

    def close(self) -> None:
        """End it and remove its folder."""
        self._process.kill()
        self._process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_for(self) -> None:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.02)
            else:
                return
        self.close()
        raise NoServerError("pgbouncer does not answer")


def pooled(name: str = NEWEST) -> Pooler:
    """Return a pooler before the one server of a version."""
    return Pooler(server(name))
