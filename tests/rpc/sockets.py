"""Servers on a socket in separate processes, and their clients."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

from sprintlog.cli.agents.rpc import SOCKET

from .conftest import Client

SECONDS = 60


class Connected(Client):
    """A client on a socket."""

    def __init__(self, folder: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        # The full path may be too long for a socket.
        held = os.open(folder, os.O_PATH)
        try:
            self.socket.connect(f"/proc/self/fd/{held}/{SOCKET}")
        except OSError:
            self.socket.close()
            raise
        finally:
            os.close(held)
        self.file = self.socket.makefile("rb")
        super().__init__(lambda x: self.socket.sendall(x + b"\n"), self.file.readline)

    def close(self) -> None:
        """Hang up."""
        self.file.close()
        self.socket.close()


class Server:
    """A server in a separate process."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-P", "-m", "sprintlog.cli", "rpc", "--listen"]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.path = Path(os.fsdecode(self.process.stdout.readline().rstrip(b"\n")))

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; return its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


class SharedServer:
    """One server for many clients, started again by the first that misses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._server: Server | None = None

    def connect(self) -> "Joined":
        """Return a client of the running server, or of a new one."""
        with self._lock:
            while True:
                if self._server is None or self._server.process.poll() is not None:
                    self._close()
                    self._server = Server(self._folder)
                try:
                    return Joined(self._server)
                except OSError:
                    # The server was just killed.
                    self._server.process.wait(SECONDS)

    def end(self) -> None:
        """End the existing server."""
        if self._server is not None and self._server.process.poll() is None:
            self._server.end()
        self._close()

    def _close(self) -> None:
        if self._server is not None and self._server.process.stdout is not None:
            self._server.process.stdout.close()


class Joined:
    """A client with its shared server."""

    has_processes = False
    files_max = 32

    def __init__(self, server: Server) -> None:
        self.process = server.process
        self._connected = Connected(server.path.parent)
        self.client: Client = self._connected

    def send_line(self, line: bytes) -> None:
        """Send a line unchanged."""
        self._connected.socket.sendall(line + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connected.close()
