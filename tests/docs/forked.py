"""Answer `sprintlog` commands from forks of one process with all modules loaded.

Starting an interpreter is most of the cost of a command. A session of the documentation
has dozens of commands, so they are played with a small `sprintlog` that passes its
arguments, folder, environment and open files to this server and ends like the fork.
Commands that start before the command line does (`wrap`, `hook`) are separate processes.
"""

import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from shlex import quote
from subprocess import DEVNULL, PIPE, Popen
from tempfile import TemporaryDirectory

BYTES_MAX = 1 << 16
# Started by a shell, because the path in a `#!` line must not contain spaces.
CLIENT = """\
#!/bin/sh
'''exec' {quoted} -IS "$0" "$@"
' '''
import json, os, socket, sys
if sys.argv[1:2] in (["wrap"], ["hook"]):
    os.execv({python!r}, [{python!r}, "-m", "sprintlog.cli", *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
command = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)])
socket.send_fds(server, [command.encode()], [0, 1, 2])
sys.exit((server.recv(1) or b"\\xff")[0])
"""


@contextlib.contextmanager
def serving() -> Iterator[Path]:
    """Run a server; yield the folder that contains its `sprintlog`."""
    # Not in pytest's folder, because a socket address is limited to about 100 characters.
    with TemporaryDirectory(prefix="sprintlog-") as name:
        folder = Path(name)
        address = str(folder / "socket")
        client = folder / "sprintlog"
        client.write_text(
            CLIENT.format(
                python=sys.executable, quoted=quote(sys.executable), address=address
            )
        )
        client.chmod(0o755)
        command = [sys.executable, "-m", "tests.docs.forked", address]
        root = Path(__file__).resolve().parents[2]
        with Popen(command, cwd=root, stdin=DEVNULL, stdout=PIPE) as server:
            try:
                assert server.stdout is not None
                assert server.stdout.readline() == b"ready\n"
                yield folder
            finally:
                server.kill()


def serve(address: str) -> None:
    """Accept one command after another, each in a separate fork."""
    from sprintlog.cli import main

    for name in main.COMMANDS:
        import_module(f"sprintlog.cli.{main.module_of(name)}")
    import_module("sprintlog.cli.intake.definition")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        os.write(1, b"ready\n")
        while True:
            command, _ = server.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _fulfil(command, main.main)
            command.close()


def _fulfil(command: socket.socket, main: object) -> None:
    """Act as the command: adopt its environment, run it, and return its exit status."""
    text, files, _, _ = socket.recv_fds(command, BYTES_MAX, 3)
    arguments, folder, environment = json.loads(text)
    for descriptor, file in enumerate(files):
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["sprintlog", *arguments]
    code = 0
    try:
        assert callable(main)
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    command.send(bytes([code]))
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
