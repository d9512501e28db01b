"""The work tree's untrusted settings file: its keys and their validation."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.log.stores.descriptors import give_back

from . import trust


class Key(NamedTuple):
    """The properties of a key, except its type."""

    default: str = "none"
    """A description of the default value."""
    option: str | None = None
    """The option that overrides the key."""
    variable: str | None = None
    """The environment variable that overrides the key."""
    needs_trust: bool = False
    """Whether the key runs a program, passes data on, or sets a location or an actor."""


KEYS = {
    "record.off": Key("false", variable="SPRINTLOG_OFF"),
    "record.actor": Key(
        "operator on a terminal, else runtime", "--actor", "SPRINTLOG_ACTOR", True
    ),
    "log.folder": Key("found upwards", variable="SPRINTLOG_DIR", needs_trust=True),
    "log.url": Key("in the folder", "init --log", "SPRINTLOG_LOG", True),
    "agent.command": Key(option="run -- COMMAND", needs_trust=True),
    "agent.timeout": Key("3600", "run --timeout"),
    "agent.idle-timeout": Key("600 for an agent that streams", "run --idle-timeout"),
    "agent.fallback": Key(option="run --fallback", needs_trust=True),
    "agent.hook-command": Key(option="run --hook-command", needs_trust=True),
    "agent.environment": Key("all of it"),
    "agent.prompt-file": Key(option="run --prompt-file", needs_trust=True),
    "agent.snapshot": Key("false", "run --snapshot"),
    "agent.measure": Key("false", "run --measure"),
    "agent.on-regression": Key("stop", "run --on-regression"),
    "agent.on-tamper": Key("warn", "run --on-tamper"),
    "agent.select": Key("false", "run --select"),
    "agent.review": Key(option="run --review", needs_trust=True),
    "agent.until": Key(option="run --until", needs_trust=True),
    "measure.run": Key(option="--run", needs_trust=True),
    "measure.build": Key(option="--build", needs_trust=True),
    "measure.reports": Key(option="--report"),
    "measure.sources": Key(option="--source"),
    "measure.timeout": Key("600", "--timeout"),
    "measure.instruments": Key(),
    "measure.environment": Key(option="--env", needs_trust=True),
    "gate.environment": Key(option="gate run --env", needs_trust=True),
    "hooks.briefing": Key("30"),
    "hooks.block-stop": Key("false"),
    "hooks.copy-transcripts": Key("0", needs_trust=True),
    "snapshot.include-ignored": Key(option="--include-ignored"),
    "snapshot.file-max": Key("64", "--file-max"),
    "snapshot.keep": Key("50", "store prune --keep"),
    "snapshot.remote": Key(needs_trust=True),
    "notify.command": Key(option="run --notify", needs_trust=True),
    "notify.of": Key("all of them", "run --notify-of"),
    "notify.wait": Key("600", "run --notify-wait"),
    "budget.iterations": Key("no limit", "sprint create --max-iterations"),
    "budget.cost": Key("no limit", "run --budget-cost"),
    "budget.tokens": Key("no limit", "run --budget-tokens"),
    "budget.time": Key("no limit", "run --budget-time"),
    "budget.failures": Key("no limit", "run --budget-failures"),
    "budget.price": Key(option="run --price", needs_trust=True),
    "rules.weights": Key("as recorded", "iteration rules set --weight"),
    "rules.thresholds": Key("as recorded", "iteration rules set --threshold"),
    "rules.verification": Key("as recorded", "iteration rules set --verification"),
    "rules.progress-edits": Key("as recorded", "iteration rules set --progress-edits"),
}
"""All keys by name, in display order."""

TABLES = tuple(dict.fromkeys(key.partition(".")[0] for key in KEYS))


BYTES_MAX = 64 * 1024
PROJECT_BYTES_MAX = 1024 * 1024
_IN_PROJECT = "tool.sprintlog"
_EARLY = {"record.off": (bool, "true or false"), "record.actor": (str, "text")}
_EARLY |= {"log.folder": (str, "text"), "log.url": (str, "text")}
_EARLY |= {"hooks.briefing": (int, "a number of lines or false")}
_EARLY |= {"hooks.block-stop": (bool, "true or false")}
"""What recording commands ask for: checked here, without pydantic."""


class SettingsFile:
    """The values of a settings file by key; a value is validated when it is read."""

    def __init__(self, path: Path, text: str, tables: dict[str, Any], prefix: str) -> None:
        self.path = path
        self._text = text
        self._prefix = prefix
        self.given = dict(self._flat(tables))

    @property
    def folder(self) -> Path:
        """Return the file's folder, to which the file's paths are relative."""
        return self.path.parent

    def value(self, key: str) -> Any:
        """Return a validated and trusted value, or None if the key is not set."""
        if key not in self.given:
            return None
        if KEYS[key].needs_trust and not self.is_trusted:
            raise self.untrusted(key)
        return self.checked(key)

    def checked(self, key: str) -> Any:
        """Return a validated value, even if it is not trusted."""
        value = self.given[key]
        if key in _EARLY:
            kind, said = _EARLY[key]
            if not isinstance(value, kind) or value == "":
                raise self.wrong(key, f"{said} belongs here")
            return value
        return self._model[key]

    @property
    def needs_trust(self) -> dict[str, Any]:
        """Return the values that require trust."""
        return {k: v for k, v in self.given.items() if KEYS[k].needs_trust}

    @cached_property
    def digest(self) -> str:
        """Return the digest of the repository and the values that require trust."""
        said = {"tree": trust.tree_of(self.folder), "says": self.needs_trust}
        encoded = msgspec.json.encode(said, order="deterministic", enc_hook=str)
        return sha256(encoded).hexdigest()

    @cached_property
    def is_trusted(self) -> bool:
        """Return whether the user trusts the current values."""
        return not self.needs_trust or trust.is_trusted(self.folder, self.digest)

    def untrusted(self, key: str) -> RefusedError:
        """Return the error for an untrusted value."""
        return RefusedError(
            f"{self.path}: {self._named(key)} is not trusted",
            hint="review it with `sprintlog config`, then run `sprintlog config --trust`",
            file=str(self.path),
            field=key,
        )

    def wrong(self, key: str, said: str) -> InvalidInputError:
        """Return the error for an invalid value, with its line."""
        name, line = self._named(key), self.line_of(key)
        where = f"line {line}: {name}" if line else name
        return InvalidInputError(f"{where}: {said}", file=str(self.path))

    def line_of(self, key: str) -> int | None:
        """Return a key's line number, or None if the key is not written in plain form."""
        wanted = [*filter(None, self._prefix.split(".")), *key.split(".")]
        table: list[str] = []
        best: tuple[int, int] | None = None
        for number, line in enumerate(self._text.split("\n"), 1):
            if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
                table = _parts(header[1])
                here = table
            elif pair := re.match(r"\s*([\w\"'.\s-]+?)\s*=", line):
                here = [*table, *_parts(pair[1])]
            else:
                continue
            # The line for the longest part of the key is the most accurate one known.
            if here == wanted[: len(here)] and (best is None or len(here) > best[0]):
                best = (len(here), number)
        return None if best is None else best[1]

    @cached_property
    def _model(self) -> dict[str, Any]:
        # Imported here: recording commands must not import pydantic.
        from ..intake.settings import check_settings

        return check_settings(self.given, self.wrong)

    def _flat(self, tables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for table, content in tables.items():
            if table not in TABLES:
                raise self._unknown(table, TABLES)
            if not isinstance(content, dict):
                raise self.wrong(table, "must be a table")
            known = [key.partition(".")[2] for key in KEYS if key.startswith(f"{table}.")]
            for name, value in content.items():
                if name not in known:
                    raise self._unknown(f"{table}.{name}", known)
                yield f"{table}.{name}", value

    def _unknown(self, key: str, known: "list[str] | tuple[str, ...]") -> InvalidInputError:
        # Imported here: only misspelled keys require it.
        from ..suggest import closest

        meant = closest(key.rpartition(".")[2].replace("_", "-"), known)
        helps = f"did you mean `{meant}`?" if meant else f"known: {', '.join(known)}"
        return self.wrong(key[:60], f"there is no such key; {helps}")

    def _named(self, key: str) -> str:
        return ".".join(filter(None, (self._prefix, key)))


def read_settings(held: int, path: Path, *, in_project: bool) -> SettingsFile | None:
    """Read and close an open settings file; return None if it has no sprintlog settings."""
    most = PROJECT_BYTES_MAX if in_project else BYTES_MAX
    try:
        if not stat.S_ISREG(os.fstat(held).st_mode):
            if in_project:
                return None
            raise InvalidInputError("is not a file", file=str(path))
        with open(held, "rb", closefd=False) as file:
            content = file.read(most + 1)
    finally:
        give_back(held)
    if in_project and (len(content) > most or b"sprintlog" not in content):
        return None
    if len(content) > most:
        raise InvalidInputError(f"is longer than {most // 1024} KiB", file=str(path))
    if (data := _parsed(content, path)) is None:
        return None
    text = content.decode()
    if not in_project:
        return SettingsFile(path, text, data, "")
    tools = data.get("tool")
    own = tools.get("sprintlog") if isinstance(tools, dict) else None
    if own is None:
        return None
    if not isinstance(own, dict):
        raise InvalidInputError(f"{_IN_PROJECT}: must be a table", file=str(path))
    return SettingsFile(path, text, own, _IN_PROJECT)


def unreadable(path: str, error: OSError) -> InvalidInputError:
    """Return the error for a file that could not be opened."""
    if os.path.islink(path):
        return InvalidInputError("is a symbolic link, which is not followed", file=path)
    return InvalidInputError(f"cannot be read: {error.strerror}", file=path)


def _parsed(content: bytes, path: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise InvalidInputError("is not UTF-8", file=str(path)) from error
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply", file=str(path)) from error
    except ValueError as error:
        # The TOML parser's message includes the line and column.
        raise InvalidInputError(str(error), file=str(path)) from error


def _parts(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]
