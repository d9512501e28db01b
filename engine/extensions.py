"""Extensions: packages with entry points, loaded when they are named.

The search for extensions runs only in commands that list them or name something unknown.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, NamedTuple

from .errors import ExtensionError as ExtensionError
from .errors import NotFoundError, SprintlogError

GROUPS = {
    "event": "sprintlog.events",
    "projection": "sprintlog.projections",
    "agent": "sprintlog.agents",
    "report": "sprintlog.reports",
    "importer": "sprintlog.importers",
    "store": "sprintlog.stores",
    "notifier": "sprintlog.notifiers",
}
"""Each kind of extension, and the entry point group in which packages declare it."""
HINT = "run `sprintlog extensions list` to list the installed extensions"


class Extension(NamedTuple):
    """An entry point in an installed package."""

    kind: str
    """A key of `GROUPS`."""
    name: str
    value: str
    """The object reference, `module:name`."""
    package: str
    version: str

    def described(self) -> str:
        """Return the extension's kind, name and package."""
        return f"{self.kind} {self.name} of {self.package} {self.version}"


def installed(kind: str | None = None) -> list[Extension]:
    """Return the installed extensions of one kind or all kinds, without importing any."""
    # Imported here: it reads all installed packages.
    from importlib.metadata import distributions

    kinds = {group: name for name, group in GROUPS.items() if kind in (None, name)}
    found: set[Extension] = set()
    seen: set[str] = set()
    for distribution in distributions(path=_safe_path()):
        package = str(distribution.name or "")
        if package in seen:
            # A package earlier on the path hides it.
            continue
        seen.add(package)
        for point in distribution.entry_points:
            if of := kinds.get(point.group):
                version = str(distribution.version)
                found.add(Extension(of, point.name, point.value, package, version))
    return sorted(found)


def _safe_path() -> list[str]:
    """Return the package search path without the current folder."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    return [x for x in sys.path if os.path.isabs(x) and os.path.realpath(x) != here]


def find(kind: str, name: str) -> Extension:
    """Return an extension.

    Raise `NotFoundError` if none matches, and `ExtensionError` if several do.
    """
    known = installed(kind)
    found = [one for one in known if one.name == name]
    if not found:
        raise NotFoundError(
            f"unknown {kind} {name[:60]!r}: no extension provides it",
            hint=HINT,
            unknown=(name, [one.name for one in known]),
            field=kind,
        )
    if len(found) > 1:
        packages = " and ".join(one.package for one in found)
        raise ExtensionError(
            f"{kind} {name} is provided by more than one package: {packages}",
            hint=f"remove one of them; {HINT}",
        )
    return found[0]


def load(extension: Extension) -> Any:
    """Import an extension's object; raise `ExtensionError` if that fails."""
    from importlib.metadata import EntryPoint

    with named(extension):
        return EntryPoint(extension.name, extension.value, GROUPS[extension.kind]).load()


@contextmanager
def named(extension: Extension) -> Iterator[None]:
    """Run an extension's code within the block, naming the extension in errors.

    The code's output is redirected to standard error, so that it cannot corrupt the
    command's output.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SprintlogError as error:
        error.fields.setdefault("extension", extension.described())
        raise
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())[:200]
        raise ExtensionError(
            f"{extension.described()} failed: {type(error).__name__}: {said}",
            hint="nothing was recorded; set SPRINTLOG_DEBUG=1 to see the traceback",
            extension=extension.described(),
        ) from error


def loaded(kind: str, name: str) -> tuple[Extension, Any]:
    """Return an extension and its object; raise the errors of `find` and `load`."""
    extension = find(kind, name)
    return extension, load(extension)


@contextmanager
def named_notifier(name: str) -> Iterator[Callable[[dict[str, Any]], object]]:
    """Yield a notifier's send function; raise the errors of `find`, `load` and `named`."""
    extension, send = loaded("notifier", name)
    with named(extension):
        yield send
