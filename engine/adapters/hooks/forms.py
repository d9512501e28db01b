"""The content that sprintlog adds to files of agents, from the table `agents.toml`.

A form knows how its content is found in a file's text, added and removed.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ...errors import InvalidInputError
from ...own_files import own_text
from . import edits
from .edits import BLANK, NAME, AgentFile, Edit, JsonForm

HOOKS, MCP, SECTION, SKILL = "hooks", "mcp", "section", "skill"
MEASURE, TRANSCRIPTS = "measure", "transcripts"
EVERYBODY = "all"
"""The row of the files that belong to no single agent."""
BEGIN, END = "<!-- sprintlog: begin -->", "<!-- sprintlog: end -->"


class HookForm(JsonForm, frozen=True):
    """A JSON file that contains a list of handlers for each event."""

    key: str = HOOKS
    in_groups: bool = True
    """Whether an event contains groups of handlers rather than the handlers themselves."""
    handler: Mapping[str, Any] = {}
    """The fields of a handler in addition to its command."""
    handlers: Mapping[str, Mapping[str, Any]] = {}
    """Further fields of the handlers of single events."""
    command_key: str = "command"
    says_event: bool = False
    """Whether the event is passed as an argument, because the input does not state it."""

    def entries(self) -> dict[str, Any]:
        """Return the entry of each event; the command's exit status is always 0."""
        found = {}
        for event in self.events:
            which = f" {event}" if self.says_event else ""
            command = f"sprintlog hook {self.agent}{which} || true"
            handler = {**self.handler, **self.handlers.get(event, {})}
            handler[self.command_key] = command
            found[event] = {"hooks": [handler]} if self.in_groups else handler
        return found

    def compared(self, value: Any) -> Any:
        """Return a handler if it calls sprintlog, in any version's format."""
        groups = value.get("hooks") if self.in_groups and isinstance(value, dict) else None
        handler = groups[0] if isinstance(groups, list) and groups else value
        said = handler.get(self.command_key) if isinstance(handler, dict) else None
        ours = rf"(?:^|[\s/;&|])sprintlog hook {re.escape(self.agent)}(?:\s|$)"
        return handler if isinstance(said, str) and re.search(ours, said) else None

    def located(self, text: str) -> Iterator[tuple[str, edits.Container, edits.Member]]:
        """Yield sprintlog's handlers, or the groups that contain nothing else."""
        for event in held.members if (held := self.held(text)) else ():
            if text[event.value] != "[":
                continue
            entries = edits.container(text, event.value)
            for entry in entries.members:
                inner = self._handlers(text, entry) or entries
                for one in [entry] if inner is entries else inner.members:
                    value = edits.parsed(text[one.value : one.end], file=event.key)
                    if self.compared(value) is not None:
                        is_alone = inner is entries or len(inner.members) == 1
                        found = (entries, entry) if is_alone else (inner, one)
                        yield event.key, *found

    def _handlers(self, text: str, entry: edits.Member) -> edits.Container | None:
        """Return the list of handlers in a group, or None if the entry is not a group."""
        if not self.in_groups or text[entry.value] != "{":
            return None
        found = edits.container(text, entry.value).named("hooks")
        is_list = found is not None and text[found.value] == "["
        return edits.container(text, found.value) if found and is_list else None


class TomlForm(AgentFile, frozen=True):
    """A TOML file, to whose end a table is added."""

    table: str

    def wanted(self) -> dict[str, Any]:
        """Return the table's content by the table's last name."""
        return {self.table.rpartition(".")[2]: tomllib.loads(self.text)}

    def ours(self, text: str, *, file: str) -> dict[str, Any]:
        """Return the table; if its name is not sprintlog's own, only if it is unchanged."""
        held = self._held(_toml(text, file=file), file=file)
        ours = {} if held is None else {self.table.rpartition(".")[2]: held}
        return ours if self.is_named or ours == self.wanted() else {}

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the text with sprintlog's table at its end."""
        edit = Edit(self.without(text or "", file=file))
        if self._held(_toml(edit.text, file=file), file=file) is not None:
            added = self.text.strip().replace("\n", ", ")
            problem = f"has a table [{self.table}]; add `{added}` to it by hand"
            raise InvalidInputError(problem, file=file)
        newline = _newline(edit.text)
        block = f"[{self.table}]\n{self.text.lstrip()}".replace("\n", newline)
        edit.append(_gap(edit.text, newline) + block)
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return the text without sprintlog's table.

        Raise `InvalidInputError` if the table was edited by hand.
        """
        if not self.ours(text, file=file):
            return text
        name = r"[ \t]*\.[ \t]*".join(rf'(?:{x}|"{x}")' for x in self.table.split("."))
        rest = text
        header = re.compile(rf"^[ \t]*\[[ \t]*{name}[ \t]*[\].]", re.MULTILINE)
        while found := header.search(rest):
            following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(rest, found.end())
            end, start = following.start() if following else len(rest), found.start()
            newline = _newline(rest)
            if end == len(rest) and rest[:start].endswith(newline * 2):
                start -= len(newline)
            rest = edits.cut(rest, [edits.TextSpan(start, end)])
        wanted = _toml(text, file=file)
        _take_out(wanted, self.table.split("."))
        if _toml(rest, file=file) != wanted:
            raise InvalidInputError(
                f"the table [{self.table}] was edited by hand, so it was not changed",
                hint=f"remove `[{self.table}]` by hand",
                file=file,
            )
        return rest

    def _held(self, found: Any, *, file: str) -> Any:
        """Return the table's value, or None if it is missing."""
        for name in self.table.split("."):
            if not isinstance(found, dict):
                raise InvalidInputError("is not an object", file=file, field=self.table)
            if (found := found.get(name)) is None:
                return None
        return found


class SectionForm(AgentFile, frozen=True):
    """A Markdown file with a section between two marks."""

    def wanted(self) -> dict[str, Any]:
        """Return the section with its marks."""
        return {NAME: f"{BEGIN}\n{self.text}{END}"}

    def ours(self, text: str, *, file: str) -> dict[str, Any]:
        """Return the section; raise `InvalidInputError` if its marks are not one pair."""
        if not (held := self._span(text, file=file)):
            return {}
        return {NAME: text[held.start : held.end].replace("\r\n", "\n")}

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the text with the section at its end."""
        edit = Edit(self.without(text or "", file=file))
        newline = _newline(edit.text)
        block = f"{self.wanted()[NAME]}\n".replace("\n", newline)
        edit.append(_gap(edit.text, newline) + block)
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return the text without the section."""
        if not (held := self._span(text, file=file)):
            return text
        before, after = text[: held.start], text[held.end :]
        newline = _newline(text)
        after = after.removeprefix(newline)
        if not after and before.endswith(newline * 2):
            before = before.removesuffix(newline)
        return before + after

    def _span(self, text: str, *, file: str) -> edits.TextSpan | None:
        begins, ends = text.count(BEGIN), text.count(END)
        if not begins and not ends:
            return None
        start, end = text.find(BEGIN), text.find(END)
        if (begins, ends) != (1, 1) or end < start:
            problem = f"the marks `{BEGIN}` and `{END}` must occur once, in this order"
            raise InvalidInputError(problem, file=file)
        return edits.TextSpan(start, end + len(END))


class WholeForm(AgentFile, frozen=True):
    """A file that belongs to sprintlog, such as a plugin or a skill."""

    mark: str
    """The text with which the file begins."""
    events: tuple[str, ...] = ()

    def wanted(self) -> dict[str, Any]:
        """Return the text for each event."""
        return dict.fromkeys(self.events or (NAME,), self.text)

    def ours(self, text: str, *, file: str) -> dict[str, Any]:
        """Return the text for each event if the file is sprintlog's."""
        is_ours = text.startswith(self.mark)
        return dict.fromkeys(self.events or (NAME,), text) if is_ours else {}

    def install(self, text: str | None, *, file: str) -> Edit:
        """Return the file's text; raise `InvalidInputError` for a third-party file."""
        if text is not None and not text.startswith(self.mark):
            problem = "was not written by sprintlog, so it was not changed"
            raise InvalidInputError(problem, file=file)
        edit = Edit("")
        edit.append(self.text)
        return edit

    def without(self, text: str, *, file: str) -> str:
        """Return an empty text; raise `InvalidInputError` if the file was edited."""
        if self.text and text != self.text:
            problem = "was edited, or written by another version, so it was not removed"
            raise InvalidInputError(problem, file=file)
        return ""


_FORMS: dict[str, type[AgentFile]] = {
    "hooks": HookForm,
    "mcp": JsonForm,
    "toml": TomlForm,
    "section": SectionForm,
    "whole": WholeForm,
}


def _files() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for agent, rows in tomllib.loads(own_text(__name__, "agents.toml")).items():
        for what, row in rows.items():
            form = _FORMS[row.pop("form")]
            one = msgspec.convert({**row, "agent": agent, "what": what}, form)
            found.setdefault(what, {})[agent] = one
    return found


FILES = _files()
"""The files, by content and by agent."""


def _toml(text: str, *, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"is not TOML: {error}", file=file) from error
    except RecursionError as error:
        raise InvalidInputError("is nested too deeply", file=file) from error


def _take_out(found: dict[str, Any], names: list[str]) -> None:
    """Remove a table from its parents, and the parents that are empty then."""
    if rest := names[1:]:
        _take_out(found[names[0]], rest)
    if not rest or not found[names[0]]:
        del found[names[0]]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _gap(text: str, newline: str) -> str:
    """Return what separates an addition from the text before it."""
    if not text.strip(BLANK):
        return ""
    return newline if text.endswith("\n") else newline * 2
