"""Where our own modules are: under their names, in the folder of their package.

Python asks for the list of each folder and for four kinds of files. A recording command
has 127 modules of ours in 25 folders, and that took a twentieth of its time (ADR 0066).
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType

_OURS = f"{__name__.partition('.')[0]}."
_SUFFIX = ".py"
_READ_BYTES = 64 * 1024
"""Hardly any compiled module is larger."""


class _Loader(SourceFileLoader):
    """Loads a module as Python does, of a file that was looked at a moment ago."""

    def __init__(self, name: str, path: str, met: os.stat_result) -> None:
        super().__init__(name, path)
        self._met = met

    def path_stats(self, path: str) -> dict[str, float]:
        """Return when the source was changed, and its size."""
        return {"mtime": self._met.st_mtime, "size": self._met.st_size}

    def get_data(self, path: str) -> bytes:
        """Return what is in a file; where it is small, in one read."""
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            data, more = os.read(descriptor, _READ_BYTES), os.read(descriptor, 1)
        finally:
            os.close(descriptor)
        return super().get_data(path) if more else data


class _Finder:
    """Finds what is ours and stands in a file; all else is left to those behind it."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of ours is, None for anything else."""
        if not path or not name.startswith(_OURS):
            return None
        place = f"{path[0]}/{name.rpartition('.')[2]}"
        for file, is_package in ((place + _SUFFIX, False), (place + "/__init__.py", True)):
            try:
                met = os.stat(file)
            except OSError:
                continue
            loader = _Loader(name, file, met)
            spec = ModuleSpec(name, loader, origin=file, is_package=is_package)
            spec.has_location = True
            if is_package and spec.submodule_search_locations is not None:
                spec.submodule_search_locations.append(place)
            return spec
        return None


def find_ours() -> None:
    """Let this process find our modules under their names."""
    sys.meta_path.insert(0, _Finder)
