"""An act as a tool call: agents use different names for tools and fields."""

import os.path
from collections.abc import Collection
from typing import Any, NamedTuple

from .plays import Act, Ask, Begin, Delegate, Edit, Run, Write


class Call(NamedTuple):
    """A call of a tool."""

    tool: str
    given: dict[str, Any]


def call_of(act: Act, tools: Collection[str], folder: str) -> Call | None:
    """Return the call of one of these tools; None for text, or if there is no such tool."""
    match act:
        case Run(command):
            return _run(command, tools)
        case Begin(command):
            call = _run(command, tools)
            return call and Call(call.tool, {**call.given, "run_in_background": True})
        case Write(path, content):
            return _write(os.path.join(folder, path), content, tools)
        case Edit(path, old, new):
            return _edit(os.path.join(folder, path), old, new, tools)
        case Delegate(prompt):
            return _delegate(prompt, tools)
        case Ask(tool, given):
            return _first(tools, Call(f"mcp__sprintlog__{tool}", {**given}))
        case _:
            return None


def _run(command: str, tools: Collection[str]) -> Call | None:
    described = {"command": command, "description": "Run a command"}
    return _first(
        tools,
        Call("Bash", described),
        Call("bash", described),
        Call("run_shell_command", described),
        Call("exec_command", {"cmd": command}),
        Call("shell_command", {"command": command}),
        Call("shell", {"command": ["sh", "-c", command]}),
    )


def _write(path: str, content: str, tools: Collection[str]) -> Call | None:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return _first(
        tools,
        Call("Write", {"file_path": path, "content": content}),
        Call("write_file", {"file_path": path, "content": content}),
        Call("create", {"path": path, "file_text": content}),
        Call("write", {"filePath": path, "content": content}),
        Call("apply_patch", _patch(f"*** Add File: {path}\n{lines}")),
    )


def _edit(path: str, old: str, new: str, tools: Collection[str]) -> Call | None:
    of_copilot = {"path": path, "old_str": old, "new_str": new}
    of_opencode = {"filePath": path, "oldString": old, "newString": new}
    replaced = {"file_path": path, "old_string": old, "new_string": new}
    return _first(
        tools,
        Call("Edit", replaced),
        Call("replace", {**replaced, "instruction": "Replace a word"}),
        Call("edit", of_copilot if "create" in tools else of_opencode),
        Call("apply_patch", _patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n")),
    )


def _delegate(prompt: str, tools: Collection[str]) -> Call | None:
    told = {"description": "Look around", "prompt": prompt}
    return _first(
        tools,
        Call("Agent", {**told, "subagent_type": "general-purpose"}),
        Call("Task", {**told, "subagent_type": "general-purpose"}),
        Call(
            "task",
            {**told, "name": "look", "agent_type": "task", "subagent_type": "general"},
        ),
    )


def _patch(change: str) -> dict[str, Any]:
    return {"input": f"*** Begin Patch\n{change}*** End Patch\n"}


def _first(tools: Collection[str], *calls: Call) -> Call | None:
    return next((call for call in calls if call.tool in tools), None)
