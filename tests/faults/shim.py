"""The library between a process and its files, compiled from `shim.c`."""

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


class Unavailable(Exception):  # noqa: N818 - a reason to skip
    """A tool cannot be used here; the message states the reason."""


@cache
def build() -> Path:
    """Return the compiled shim; raise `Unavailable` if it cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Unavailable("a C compiler: apt install gcc")
    if not sys.platform.startswith("linux"):
        raise Unavailable("Linux: run the tests on Linux")
    library = _folder() / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(
            f"a C compiler that compiles the shim: {words[0] if words else 'no output'}"
        )
    return library


@cache
def _keeper() -> tempfile.TemporaryDirectory[str]:
    # The cache keeps the folder until the interpreter exits.
    return tempfile.TemporaryDirectory(prefix="sprintlog-shim-")


def _folder() -> Path:
    return Path(_keeper().name)
