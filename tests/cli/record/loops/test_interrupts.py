"""Ctrl-C while Python itself is at work."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGE_PATH

INTERRUPTED = """
import signal, sys, time
from functools import partial
from importlib import _bootstrap
from types import SimpleNamespace
from sprintlog.cli import main

said = []

class Group(main.LazyGroup):
    def get_command(self, ctx, cmd_name):
        # A signal arrives as `import` lets go of the lock of a module.
        lock, before = _bootstrap._get_module_lock("planted"), _bootstrap._imp
        arrives = partial(signal.raise_signal, signal.SIGINT)
        _bootstrap._imp = SimpleNamespace(acquire_lock=arrives, release_lock=int)
        try:
            del lock
        finally:
            _bootstrap._imp = before
        for number in range(1000):
            said.append(number)
            time.sleep(0.01)
        return super().get_command(ctx, cmd_name)

# A test in the background has them ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
main.cli.__class__ = Group
try:
    main.main()
finally:
    assert len(said) < 1000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def run(folder: Path, code: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Return the exit status of a command in a separate process."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE_PATH)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_interrupt_waits_while_an_import_is_at_work(tmp_path: Path) -> None:
    """It ends the command, although Python would otherwise only print it."""
    done = run(tmp_path, INTERRUPTED, "iteration", "rules", "-h")
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


IGNORED = """
import os, signal
from sprintlog.cli import main

class Group(main.LazyGroup):
    def get_command(self, ctx, cmd_name):
        os.kill(os.getpid(), signal.SIGINT)
        return super().get_command(ctx, cmd_name)

signal.signal(signal.SIGINT, signal.{handler})
main.cli.__class__ = Group
main.main()
"""


@pytest.mark.parametrize(("handler", "code"), [("SIG_IGN", 0), ("SIG_DFL", -signal.SIGINT)])
def test_what_others_have_said_of_interrupts_holds(
    handler: str, code: int, tmp_path: Path
) -> None:
    """In a process in which interrupts are ignored or fatal, they stay so."""
    assert (
        run(
            tmp_path, IGNORED.format(handler=handler), "iteration", "rules", "-h"
        ).returncode
        == code
    )
