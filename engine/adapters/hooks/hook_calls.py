"""Converts tool calls reported by hooks into events.

Events contain paths, counts and digests instead of file contents and command output, which
are never recorded.
"""

import re
from collections.abc import Iterator

import msgspec

from ... import hashes
from ...masking import mask
from ...sessions import events
from ..agents import values as v
from ..agents.items import FileChanged

_PATCH = "*** Begin Patch"
_PATCH_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_PATCHED = {"Add": "created", "Update": "changed", "Delete": "deleted"}
_MASKED_CHARS_MAX = 64 * 1024
"""The length of a command that is searched for secrets; much less is recorded."""
_SHELLS = {"bash", "run_shell_command", "shell"}


class HookPlace(msgspec.Struct, frozen=True):
    """The folders to which recorded paths are relative."""

    root: str = ""
    """The work tree's root."""
    home: str = ""
    """The user's home folder, which must not be recorded."""

    def shown(self, path: str, folder: str = "") -> str:
        """Return a path relative to the root or the home folder, with secrets masked."""
        if folder and not path.startswith("/"):
            path = f"{folder}/{path.removeprefix('./')}"
        for above, shown in ((self.root, ""), (self.home, "~/")):
            if len(above) > 1 and path.startswith(f"{above}/"):
                path = shown + path[len(above) + 1 :]
                break
        return mask(path)[: events.PATH_CHARS_MAX]


def call_in(
    message: v.Data, agent: str, place: HookPlace, *, failed: bool
) -> events.ToolCalled:
    """Return the call in a hook message in the common format."""
    tool, given = v.text(message.get("tool_name")), message.get("tool_input")
    given = v.parse(given.encode("utf-8", "replace")) if isinstance(given, str) else given
    named = v.mapping(given)
    gave = next((message[n] for n in _ANSWERS if n in message), None)
    code = _exit_code(message, gave, agent, tool)
    files = [*_files(tool, named, v.mapping(gave))]
    folder = v.text(message.get("cwd"))
    output = _bytes_of(gave)
    return events.ToolCalled(
        word(tool) or "unnamed",
        call=word(message.get("tool_use_id")),
        ok=False if failed else _worked(agent, tool, gave, code),
        is_interrupted=message.get("is_interrupt") is True
        or v.mapping(gave).get("interrupted") is True,
        exit_code=code,
        duration_ms=_duration(message),
        command=_command(named),
        files=tuple(
            events.TouchedFile(place.shown(x.path, folder), x.kind, x.added, x.removed)
            for x in files[: events.FILES_MAX]
        ),
        subagent=word(message.get("agent_id")),
        input_sha256=digest_of(given) if given is not None else None,
        output_sha256=hashes.sha256(output).hexdigest() if output is not None else None,
        output_bytes=len(output) if output is not None else None,
    )


_ANSWERS = ("tool_response", "tool_result", "tool_output", "error", "error_message")


def word(value: object) -> str | None:
    """Return a name or id, shortened and with secrets masked; None if it is empty."""
    return mask(v.text(value)[: events.COMMAND_CHARS_MAX])[: events.NAME_CHARS_MAX] or None


def digest_of(value: object) -> str:
    """Return a JSON value's digest, which does not depend on the order of its keys."""
    return hashes.sha256(_bytes_of(value) or b"").hexdigest()


def _bytes_of(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return v.text(value).encode()
    try:
        return msgspec.json.encode(value, order="sorted")
    except (UnicodeEncodeError, RecursionError):
        # Lone surrogates, which truncated texts can contain.
        return repr(value).encode("utf-8", "replace")


def _command(given: v.Data) -> str | None:
    """Return the start of a command, up to any patch, which would contain file contents."""
    command = (v.command_of(given) or "")[:_MASKED_CHARS_MAX].partition(_PATCH)[0]
    return mask(command)[: events.COMMAND_CHARS_MAX] or None


def _exit_code(message: v.Data, gave: object, agent: str, tool: str) -> int | None:
    """Return a command's exit code if the agent, rather than the command, reports it."""
    if "error" in message or "error_message" in message:
        said = v.text(message.get("error")) or v.text(message.get("error_message"))
        return v.exit_code_in(said) if said else None
    about = v.mapping(gave)
    if agent == "opencode":
        return v.integer(v.inner(about, "metadata").get("exit"))
    if agent == "cursor":
        told = about or v.mapping(v.parse(v.text(gave).encode()))
        return v.integer(told.get("exitCode", told.get("exit_code")))
    if tool.lower() not in _SHELLS:
        return None
    found: list[str] = []
    if agent == "gemini":
        # The command's output precedes this line.
        found = re.findall(r"(?m)^Exit Code: (-?\d{1,9})$", v.text(about.get("llmContent")))
    elif agent == "copilot":
        said = v.text(about.get("textResultForLlm", about.get("text_result_for_llm")))
        found = re.findall(r"with exit code (-?\d{1,9})>\s*\Z", said)
    return int(found[-1]) if found else None


def _worked(agent: str, tool: str, gave: object, code: int | None) -> bool | None:
    """Return whether a call succeeded, given that it was not reported as failed.

    Most agents report a failed command as a success, so the result is unknown without an
    exit code.
    """
    about = v.mapping(gave)
    if agent == "copilot":
        kind = v.text(about.get("resultType", about.get("result_type")))
        return kind == "success" and code in (None, 0) if kind else None
    if code is not None:
        return code == 0
    if agent == "codex":
        return None
    if agent == "gemini":
        if about.get("error"):
            return False
        return None if tool.lower() in _SHELLS else True
    return True


def _duration(message: v.Data) -> int | None:
    took = message.get("duration_ms", message.get("duration"))
    return v.count(round(took) if isinstance(took, float) and took < 2**53 else took)


def _files(tool: str, given: v.Data, gave: v.Data) -> Iterator[FileChanged]:
    """Yield the files in a call, with the type of change if it is reported."""
    if found := v.changed_by_patch(None, gave):
        yield from found
        return
    if _PATCH in (patch := v.command_of(given) or v.text(given.get("patch"))):
        yield from _patched(patch.partition(_PATCH)[2])
        return
    shown, about = v.inner(gave, "returnDisplay"), v.inner(gave, "metadata")
    path = v.text(shown.get("filePath")) or v.path_of(given)
    path = path or v.text(given.get("notebook_path")) or v.text(about.get("filepath"))
    if not path:
        return
    if isinstance(shown.get("fileDiff"), str):
        is_new = shown.get("isNewFile") is True or not shown.get("originalContent")
        kind = "created" if is_new else "changed"
        yield v.changed_by_diff(None, path, kind, v.text(shown["fileDiff"]))
    elif isinstance(filediff := about.get("filediff"), dict):
        counts = v.counts(filediff, "additions", "deletions")
        yield FileChanged(None, path, "changed", *counts)
    elif tool == "write" and isinstance(about.get("exists"), bool):
        if about["exists"]:
            yield FileChanged(None, path, "changed")
        else:
            lines = v.line_count(v.text(given.get("content")))
            yield FileChanged(None, path, "created", lines, 0)
    elif isinstance(given.get("file_text"), str):
        lines = v.line_count(v.text(given["file_text"]))
        yield FileChanged(None, path, "created", lines, 0)
    elif "old_str" in given or "old_string" in given or "oldString" in given:
        yield FileChanged(None, path, "changed")
    else:
        yield FileChanged(None, path)


def _patched(patch: str) -> Iterator[FileChanged]:
    """Yield the files in a Codex patch, with their line counts."""
    path, kind, added, removed = "", "", 0, 0
    for line in [*patch.split("\n"), "*** End"]:
        if not line.startswith("*** "):
            added += line.startswith("+")
            removed += line.startswith("-")
            continue
        named = _PATCH_FILE.fullmatch(line.rstrip())
        if named is None and not line.startswith("*** End"):
            continue
        if path:
            counts = (None, None) if kind == "deleted" else (added, removed)
            yield FileChanged(None, path, kind, *counts)
        path = named[2] if named else ""
        kind, added, removed = _PATCHED[named[1]] if named else "", 0, 0
