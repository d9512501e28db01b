"""Reads and writes agents' configuration files, and remembers sprintlog's additions.

Links below the user's folder are not followed, so that a file's owner is certain.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...errors import InvalidInputError, RefusedError
from ...readable import as_json, originals
from ..folders import NO_FOLDER, opened, opened_below
from ..replace import FilePlace, NotPlainError, read_file, replace_file, replace_in
from .edits import AgentFile, TextSpan, cut
from .forms import FORMS, HOOKS
from .mcp_entries import MCP, MCP_FORMS

FILE_BYTES_MAX = 4 * 1024 * 1024
SCOPES = ("project", "user")
FILES: dict[str, Mapping[str, AgentFile]] = {HOOKS: FORMS, MCP: MCP_FORMS}
"""The supported files, by content and by agent."""


class Remembered(msgspec.Struct, frozen=True):
    """Sprintlog's additions to a file, stored so that they can be removed exactly."""

    agent: str
    scope: str
    root: str
    below: str
    sha256: str
    """The SHA-256 of the file after the change."""
    spans: list[tuple[int, int]]
    existed: bool
    """Whether the file existed before sprintlog changed it."""
    what: str = HOOKS


class HookFile(NamedTuple):
    """One agent's file in one scope, for its hooks or for sprintlog's MCP server."""

    form: AgentFile
    scope: str
    root: Path
    """The root folder of the path: the project's, or the agent's own."""
    below: str
    memory: Path
    """The folder that stores sprintlog's additions, outside every work tree."""

    @property
    def path(self) -> Path:
        """Return the file's path."""
        return self.root / self.below

    @property
    def what(self) -> str:
        """Return the type of content that is installed: `hooks` or `mcp`."""
        return self.form.what

    def events(self) -> list[str]:
        """Return the installed events that call sprintlog, or the name of its MCP server.

        Raise `InvalidInputError` for an invalid file.
        """
        text = self._read()
        return [] if text is None else self.form.names(text, file=str(self.path))

    def is_current(self) -> bool:
        """Return whether the current version is installed."""
        return self._is_current(self._read())

    def _is_current(self, text: str | None) -> bool:
        return text is not None and self.form.is_current(text, file=str(self.path))

    def install(self, *, is_dry: bool = False) -> bool:
        """Install sprintlog's content if necessary; return whether the file changes."""
        before = self._read()
        if self._is_current(before):
            return False
        edit = self.form.install(before, file=str(self.path))
        if is_dry:
            return True
        known = self._remembered(before)
        existed = before is not None if known is None else known.existed
        self._remember(edit.text, edit.spans, existed=existed)
        self._write(edit.text, before)
        return True

    def uninstall(self, *, is_dry: bool = False) -> bool:
        """Remove sprintlog's content; return whether the file changes.

        If the file has not been edited since installation, it is restored exactly.
        """
        before, form, path = self._read(), self.form, str(self.path)
        if before is None or not form.names(before, file=path):
            return False
        known = self._remembered(before)
        if known is not None and known.sha256 == _digest(before):
            after = cut(before, [TextSpan(*one) for one in known.spans])
        else:
            after = form.without(before, file=path)
        goes = form.is_bare(after, file=path)
        goes = goes and not (known is not None and known.existed)
        if not is_dry:
            self._write(None if goes else after, before)
            self._memo.unlink(missing_ok=True)
        return True

    @property
    def _memo(self) -> Path:
        named = os.path.realpath(self.root) + "/" + self.below
        # Both kinds of content may be in one file, and each has its own record.
        named += "" if self.what == HOOKS else f"\0{self.what}"
        name = sha256(os.fsencode(named))
        return self.memory / f"{name.hexdigest()[:32]}.json"

    def _remembered(self, text: str | None) -> Remembered | None:
        found = _read_memo(self._memo)
        return found if found is not None and text is not None else None

    def _remember(self, text: str, spans: list[TextSpan], *, existed: bool) -> None:
        place = self.form.agent, self.scope, str(self.root), self.below
        ours = [(start, end) for start, end in spans]
        memo = Remembered(*place, _digest(text), ours, existed, self.what)
        self.memory.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._memo, as_json(memo), mode=0o600)

    def _read(self) -> str | None:
        """Return the file's text; None if there is no file."""
        folder, _, name = self.below.rpartition("/")
        try:
            with opened(self.root) as top, opened_below(top, folder) as held:
                content = read_file(FilePlace(held, name), at_most=FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except (NotPlainError, OSError) as error:
            raise InvalidInputError(_said(error), file=str(self.path)) from error
        if len(content) > FILE_BYTES_MAX:
            problem = f"is longer than {FILE_BYTES_MAX // 2**20} MiB"
            raise InvalidInputError(problem, file=str(self.path))
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise InvalidInputError("is not UTF-8 text", file=str(self.path)) from error

    def _write(self, text: str | None, before: str | None) -> None:
        """Write or remove the file; raise `RefusedError` if it differs from `before`."""
        folder, _, name = self.below.rpartition("/")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with opened(self.root) as top, opened_below(top, folder, make=True) as held:
                if self._read() != before:
                    raise RefusedError(
                        f"nothing was written: {self.path} changed in the meantime",
                        hint="run the same command again",
                        file=str(self.path),
                    )
                if text is None:
                    os.unlink(name, dir_fd=held)
                else:
                    replace_in(FilePlace(held, name), text.encode())
        except OSError as error:
            problem = f"{self.path}: {_said(error)}"
            raise RefusedError(problem, file=str(self.path)) from error
        if text is None:
            # The folders may have been created for the file.
            with suppress(OSError), opened(self.root) as top:
                while folder:
                    os.rmdir(folder, dir_fd=top)
                    folder = folder.rpartition("/")[0]


class HookLocation(NamedTuple):
    """The locations of agents' files: the project, the home folder and the environment."""

    project: Path
    home: Path
    environment: Mapping[str, str]

    def file(self, agent: str, scope: str, *, what: str = HOOKS) -> HookFile:
        """Return an agent's file in a scope, for its hooks or its MCP servers."""
        form = FILES[what][agent]
        if scope == "project":
            return HookFile(form, scope, self.project, form.project, self._memory)
        variable, default = form.home
        root = self._folder(variable, default)
        return HookFile(form, scope, root, form.user, self._memory)

    def remembered(self) -> Iterator[HookFile]:
        """Yield the files with additions that have not been removed."""
        for path in sorted(self._memory.glob("*.json")):
            one = _read_memo(path)
            form = one and FILES.get(one.what, FORMS).get(one.agent)
            if one and form and one.below in (form.project, form.user):
                yield HookFile(form, one.scope, Path(one.root), one.below, self._memory)

    @property
    def _memory(self) -> Path:
        """Return the folder that stores sprintlog's additions to agents' files."""
        return self._folder("XDG_STATE_HOME", ".local/state") / "sprintlog/hooks"

    def _folder(self, variable: str, default: str) -> Path:
        """Return the folder set by an environment variable, or the default."""
        named = self.environment.get(variable, "") if variable else ""
        return Path(named) if os.path.isabs(named) else self.home / default


def _read_memo(path: Path) -> Remembered | None:
    """Return the stored additions; None if they cannot be read."""
    try:
        content = path.read_bytes()
        return msgspec.convert(originals(content), Remembered)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _said(error: OSError) -> str:
    if error.strerror == NO_FOLDER or isinstance(error, NotPlainError):
        return str(error.strerror)
    return f"cannot be used: {error.strerror}"
