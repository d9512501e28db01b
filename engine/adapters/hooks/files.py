"""Reads and writes agents' configuration files, and remembers sprintlog's additions.

Links below the user's folder are not followed, so that a file's owner is certain.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import msgspec

from ...errors import InvalidInputError, RefusedError
from ...readable import as_json, originals
from ..folders import NO_FOLDER, opened, opened_below
from ..replace import FilePlace, NotPlainError, read_file, replace_file, replace_in
from .edits import AgentFile, TextSpan, cut
from .forms import FILES, HOOKS

FILE_BYTES_MAX = 4 * 1024 * 1024
SCOPES = ("project", "user")


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
    made: str | None = None
    """The topmost folder that was created for the file, if any."""


class HookFile(NamedTuple):
    """One agent's file in one scope, for its hooks or for sprintlog's MCP server."""

    form: AgentFile
    scope: str
    root: Path
    """The root folder of the path: the project's, or the agent's own."""
    below: str
    memory: Path
    """The folder that stores sprintlog's additions, outside every work tree."""
    fallback: Path | None = None
    """The folder that stores them if the first one is not writable."""

    @property
    def path(self) -> Path:
        """Return the file's path."""
        return self.root / self.below

    @property
    def what(self) -> str:
        """Return the kind of content that is installed, such as `hooks` or `mcp`."""
        return self.form.what

    def events(self) -> list[str]:
        """Return the installed events that call sprintlog, or the name of other content.

        Raise `InvalidInputError` for an invalid file.
        """
        return [*self._ours(self._read())]

    def is_current(self) -> bool:
        """Return whether the current version is installed."""
        return self._ours(self._read()) == self.form.wanted()

    def _ours(self, text: str | None) -> dict[str, Any]:
        return {} if text is None else self.form.ours(text, file=str(self.path))

    def install(self, *, is_dry: bool = False) -> bool:
        """Install sprintlog's content if necessary; return whether the file changes."""
        before = self._read()
        if self._ours(before) == self.form.wanted():
            return False
        edit = self.form.install(before, file=str(self.path))
        if is_dry:
            return True
        known = self.remembered()
        existed = before is not None and (known is None or known.existed)
        made = (known and known.made) or self._missing_folder()
        place = self.form.agent, self.scope, str(self.root), self.below
        spans = [(start, end) for start, end in edit.spans]
        digest = _digest(edit.text)
        self._remember(Remembered(*place, digest, spans, existed, self.what, made))
        self._write(edit.text, before)
        return True

    def uninstall(self, *, is_dry: bool = False) -> bool:
        """Remove sprintlog's content; return whether the file changes.

        If the file has not been edited since installation, it is restored exactly.
        """
        form, path = self.form, str(self.path)
        known, before = self.remembered(), self._read()
        if before is None:
            return False
        if known is not None and known.sha256 == _digest(before):
            after = cut(before, [TextSpan(*one) for one in known.spans])
        elif form.ours(before, file=path) and (form.is_named or known is not None):
            after = form.without(before, file=path)
        else:
            return False
        goes = form.is_bare(after, file=path) and (known is None or not known.existed)
        if not is_dry:
            made = known.made if known is not None else None
            self._write(None if goes else after, before, made=made)
            for memo in filter(Path.is_file, self._memos):
                memo.unlink(missing_ok=True)
        return True

    @property
    def _memos(self) -> list[Path]:
        named = os.path.realpath(self.root) + "/" + self.below
        # Several kinds of content may be in one file, and each has its own record.
        named += "" if self.what == HOOKS else f"\0{self.what}"
        name = sha256(os.fsencode(named)).hexdigest()[:32]
        return [one / f"{name}.json" for one in (self.memory, self.fallback) if one]

    def remembered(self) -> Remembered | None:
        """Return the stored additions to the file, or None."""
        return next(filter(None, map(_read_memo, self._memos)), None)

    def _missing_folder(self) -> str:
        """Return the topmost folder to be created for the file, or an empty text."""
        parents = [str(one) for one in reversed(PurePath(self.below).parents)][1:]
        return next((one for one in parents if not (self.root / one).exists()), "")

    def _remember(self, one: Remembered) -> None:
        for memo in self._memos:
            try:
                memo.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return replace_file(memo, as_json(one), mode=0o600)
            except OSError as error:
                problem = f"cannot store the changes in {memo.parent}: {error.strerror}"
        raise RefusedError(problem, hint="nothing was written", file=str(memo))

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

    def _write(
        self, text: str | None, before: str | None, *, made: str | None = None
    ) -> None:
        """Write or remove the file; raise `RefusedError` if it differs from `before`.

        With the file, empty folders are removed, up to `made` if it is known.
        """
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
            with suppress(OSError), opened(self.root) as top:
                while folder and (made is None or f"{folder}/".startswith(made + "/")):
                    os.rmdir(folder, dir_fd=top)
                    folder = folder.rpartition("/")[0]


class HookLocation(NamedTuple):
    """The locations of agents' files: the project, the home folder and the environment."""

    project: Path
    home: Path
    environment: Mapping[str, str]
    fallback: Path | None = None
    """The folder for what cannot be stored below the home folder."""

    def file(
        self, agent: str, scope: str, *, what: str = HOOKS, content: str = ""
    ) -> HookFile:
        """Return an agent's file in a scope, for its hooks or for other content."""
        form = FILES[what][agent]
        if content:
            form = msgspec.structs.replace(form, content=content)
        if scope == "project":
            return HookFile(form, scope, self.project, form.project, *self._memory)
        return HookFile(form, scope, self._folder(*form.home), form.user, *self._memory)

    def files(self, *scopes: str) -> Iterator[HookFile]:
        """Yield every file in some scopes, in the order of installation."""
        for what, forms in FILES.items():
            for agent, form in forms.items():
                for scope in (one for one in scopes if one == SCOPES[0] or form.user):
                    yield self.file(agent, scope, what=what)

    def remembered(self) -> Iterator[HookFile]:
        """Yield the files with additions that have not been removed."""
        for folder in filter(None, self._memory):
            for one in filter(None, map(_read_memo, sorted(folder.glob("*.json")))):
                form = FILES.get(one.what, {}).get(one.agent)
                if form and one.below in (form.project, form.user):
                    root = Path(one.root)
                    yield HookFile(form, one.scope, root, one.below, *self._memory)

    @property
    def _memory(self) -> tuple[Path, Path | None]:
        """Return the folders that store sprintlog's additions to agents' files."""
        state = self._folder("XDG_STATE_HOME", ".local/state") / "sprintlog/hooks"
        return state, self.fallback

    def _folder(self, variable: str, default: str) -> Path:
        """Return the folder set by an environment variable, or the default."""
        named = self.environment.get(variable, "") if variable else ""
        return Path(named) if os.path.isabs(named) else self.home / default


def _read_memo(path: Path) -> Remembered | None:
    """Return the stored additions; None if they cannot be read."""
    try:
        return msgspec.convert(originals(path.read_bytes()), Remembered)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _said(error: OSError) -> str:
    if error.strerror == NO_FOLDER or isinstance(error, NotPlainError):
        return str(error.strerror)
    return f"cannot be used: {error.strerror}"
