"""Detect and undo changes that a test makes to its process and does not undo itself."""

import asyncio
import gc
import os
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILES = "/proc/self/fd"
SIGNALS = [
    getattr(signal, name)
    for name in (
        "SIGINT",
        "SIGTERM",
        "SIGHUP",
        "SIGCHLD",
        "SIGPIPE",
        "SIGALRM",
        "SIGUSR1",
        "SIGWINCH",
    )
]
# Names that their module replaces, here with a faster function after much hashing.
REPLACED_BY_DESIGN = {"sprintlog.engine.hashes.sha256"}
# Thread names of pools of plugins, libraries and the MCP server.
POOLS = ("execnet", "asyncio_", "AnyIO", "ThreadPoolExecutor", "tools_")
# Set by pytest and its plugins for each phase of a test.
SET_BY_PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_XDIST_TESTRUNUID")


@dataclass(frozen=True)
class State:
    """The state that a test shares with later tests in the same process.

    Each field has a value that compares equal as long as nothing has leaked.
    """

    folder: str
    environment: dict[str, str]
    umask: int
    signals: dict[int, Any]
    warnings: tuple[Any, ...]
    path: tuple[str, ...]
    arguments: tuple[str, ...]
    streams: tuple[Any, ...]
    threads: frozenset[threading.Thread]
    files: dict[int, str]
    home: frozenset[str]
    checkout: frozenset[str]
    loop: Any

    @classmethod
    def now(cls, home: Path) -> "State":
        """Return the present state of this process and of the folder `home`."""
        umask = os.umask(0o022)
        os.umask(umask)
        environment = dict(os.environ)
        for name in SET_BY_PYTEST:
            environment.pop(name, None)
        return cls(
            folder=_folder(),
            environment=environment,
            umask=umask,
            signals={number: signal.getsignal(number) for number in SIGNALS},
            warnings=tuple(warnings.filters),
            path=tuple(sys.path),
            arguments=tuple(sys.argv),
            streams=(sys.__stdin__, sys.__stdout__, sys.__stderr__),
            threads=frozenset(threading.enumerate()),
            files=open_files(),
            home=frozenset(os.listdir(home)),
            checkout=frozenset(name for name in os.listdir(ROOT) if "_cache" not in name),
            loop=_running_loop(),
        )


def leaks(before: State, home: Path) -> list[str]:
    """Return one line for each difference from `before`; an empty list if nothing leaked.

    Threads that are about to end and files that are about to be closed get five seconds,
    because they cannot disturb another test. Objects referenced only by garbage are no
    leak: a thread pool ends when its owner is collected.
    """
    after = State.now(home)
    new = [thread for thread in after.threads - before.threads if not _is_of_a_pool(thread)]
    if new:
        gc.collect()
        for thread in new:
            thread.join(5)
    if after.files.items() - before.files.items():
        gc.collect()
        # A server thread may still be closing the files of its last answer.
        end = time.monotonic() + 5
        while (after := State.now(home)).files.items() - before.files.items():
            if time.monotonic() > end:
                break
            time.sleep(0.02)
    found = []
    for field in fields(State):
        old, new_value = getattr(before, field.name), getattr(after, field.name)
        if field.name == "threads":
            left = sorted(
                thread.name
                for thread in new_value - old
                if thread.is_alive() and not _is_of_a_pool(thread)
            )
            if left:
                found.append(f"threads still run: {', '.join(left)}")
        elif field.name in ("home", "checkout"):
            if new_value - old:
                place = field.name.replace("home", "HOME")
                found.append(f"written to {place}: {', '.join(sorted(new_value - old))}")
        elif field.name == "files":
            opened = {n: name for n, name in new_value.items() if old.get(n) != name}
            found += [
                f"file still open: {name} (descriptor {n})" for n, name in opened.items()
            ]
        elif isinstance(old, dict) and old != new_value:
            for key in sorted(old.keys() | new_value.keys()):
                if old.get(key) != new_value.get(key):
                    change = f"was {old.get(key)!r}, is {new_value.get(key)!r}"
                    found.append(f"{field.name}: {key} {change}")
        elif old != new_value:
            found.append(f"{field.name} was {old!r}, is {new_value!r}")
    return found


def restore(before: State, home: Path) -> None:
    """Undo the leaks that can be undone, so that only the test that leaked fails."""
    import shutil

    os.chdir(before.folder)
    for name in os.environ.keys() - before.environment.keys() - set(SET_BY_PYTEST):
        del os.environ[name]
    os.environ.update(before.environment)
    os.umask(before.umask)
    for number, handler in before.signals.items():
        if handler is not None:
            signal.signal(number, handler)
    warnings.filters[:] = list(before.warnings)  # type: ignore[index]
    sys.path[:] = before.path
    sys.argv[:] = before.arguments
    for name in frozenset(os.listdir(home)) - before.home:
        path = home / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def open_files() -> dict[int, str]:
    """Return the target of each open descriptor; nothing if they cannot be listed."""
    found = {}
    with suppress(OSError):
        for number in os.listdir(FILES):
            # The descriptor used for the listing is already closed.
            with suppress(OSError):
                name = os.readlink(f"{FILES}/{number}")
                if not name.startswith(("anon_inode:", "/memfd:")):
                    found[int(number)] = name
    return found


def bound(packages: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return the names of every imported module of `packages` with their values."""
    return {
        name: dict(vars(module))
        for name, module in list(sys.modules.items())
        if isinstance(module, types.ModuleType) and name.startswith(packages)
    }


def rebound(before: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the name of each replaced function, class or module, and a function to undo it.

    Other values may change: modules cache what they computed.
    """
    kinds = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)
    for module_name, names in before.items():
        module = sys.modules.get(module_name)
        if module is None:
            continue
        now = vars(module)
        if now == names:
            continue
        for name, value in names.items():
            full_name = f"{module_name}.{name}"
            if now.get(name) is value or not isinstance(value, kinds):
                continue
            if full_name not in REPLACED_BY_DESIGN:
                yield full_name, partial(setattr, module, name, value)


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "a folder that was deleted"


def _running_loop() -> Any:
    return asyncio._get_running_loop()


def _is_of_a_pool(thread: threading.Thread) -> bool:
    """Return whether the thread belongs to a pool, which ends with its owner."""
    return thread.name.startswith(POOLS)
