"""The forms in which agents hand a hook its input, made one: that of Claude Code.

Most agents speak it already, each with its own names of events. Copilot has a second one
in camel case that does not say which event it is, opencode tells its plugins.
"""

from ..agents.values import Data, count, mapping, text

STARTED, PROMPTED, CALLED, FAILED, TURN = "start", "prompt", "call", "failed call", "turn"
SUBAGENT, SUBAGENT_ENDED, COMPACTED, ENDED = "subagent", "subagent end", "compact", "end"
TURN_FAILED, PASSED = "failed turn", "passed"

MOMENTS = {
    **dict.fromkeys(("SessionStart", "sessionStart"), STARTED),
    **dict.fromkeys(
        ("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt", "userPromptSubmitted"),
        PROMPTED,
    ),
    **dict.fromkeys(("PostToolUse", "AfterTool", "postToolUse"), CALLED),
    **dict.fromkeys(("PostToolUseFailure", "postToolUseFailure"), FAILED),
    **dict.fromkeys(("SubagentStart", "subagentStart"), SUBAGENT),
    **dict.fromkeys(("SubagentStop", "subagentStop"), SUBAGENT_ENDED),
    **dict.fromkeys(("PreCompact", "preCompact"), COMPACTED),
    **dict.fromkeys(("Stop", "AfterAgent", "stop", "agentStop"), TURN),
    **dict.fromkeys(("StopFailure", "errorOccurred", "Interrupt"), TURN_FAILED),
    **dict.fromkeys(("SessionEnd", "sessionEnd"), ENDED),
    # What comes before says less than what comes after; the others are said elsewhere.
    **dict.fromkeys(
        (
            *("PreToolUse", "preToolUse", "BeforeTool", "PostToolBatch", "PostCompact"),
            *("PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"),
            *("PermissionRequest", "permissionRequest", "PermissionDenied"),
            *("Notification", "notification", "InstructionsLoaded", "CwdChanged"),
            *("afterFileEdit", "afterShellExecution", "beforeShellExecution"),
            *("beforeReadFile", "beforeMCPExecution", "afterMCPExecution"),
            *("afterAgentResponse", "afterAgentThought"),
        ),
        PASSED,
    ),
}
"""What the events of agents are, by their names."""
_RENAMED = {
    "sessionId": "session_id",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_result",
    "transcriptPath": "transcript_path",
    "stopReason": "stop_reason",
    "agentId": "agent_id",
    "agentName": "agent_type",
}


def one_form(message: Data) -> Data:
    """Return what a hook was handed with the names that most agents use."""
    if text(message.get("k")):
        return _of_plugin(message)
    if "sessionId" not in message:
        if "session_id" not in message and "conversation_id" in message:
            return {**message, "session_id": message["conversation_id"]}
        return message
    same = {_RENAMED.get(name, name): value for name, value in message.items()}
    return {**same, "hook_event_name": _unnamed(message)}


def agent_of(message: Data, told: str) -> str:
    """Return whose hook it is: some agents run the hooks of others, in their form."""
    if text(message.get("k")):
        return "opencode"
    if "sessionId" in message or "tool_result" in message or "initial_prompt" in message:
        return "copilot"
    if "conversation_id" in message and "session_id" not in message:
        return "cursor"
    event, is_dated = text(message.get("hook_event_name")), "timestamp" in message
    if is_dated and event in ("BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool"):
        return "gemini"
    if is_dated and told == "claude":
        # Claude Code says no time; Copilot runs its hooks where a folder is trusted.
        return "copilot"
    if "turn_id" in message and "model" in message:
        return "codex"
    return told


def _unnamed(message: Data) -> str:
    """Return which event of Copilot it is, by what it holds."""
    if text(message.get("hookName")):
        return text(message["hookName"])
    if "toolName" in message:
        if "toolResult" in message:
            return "postToolUse"
        return "postToolUseFailure" if "error" in message else "preToolUse"
    for name, event in (
        ("initialPrompt", "sessionStart"),
        ("source", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("stopReason", "agentStop"),
        ("error", "errorOccurred"),
        ("reason", "sessionEnd"),
        ("trigger", "preCompact"),
    ):
        if name in message:
            return event
    return ""


def _of_plugin(message: Data) -> Data:
    """Return what opencode told a plugin: `k` says what it is, `t` when it was."""
    kind, said = text(message.get("k")), mapping(message.get("o"))
    time = {"timestamp": message.get("t")}
    if kind == "after":
        given, gave = mapping(said.get("i")), mapping(said.get("o"))
        return {
            "hook_event_name": "PostToolUse",
            "session_id": given.get("sessionID"),
            "tool_name": given.get("tool"),
            "tool_input": given.get("args"),
            "tool_use_id": given.get("callID"),
            "tool_response": gave,
            **time,
        }
    if kind == "chat":
        session = mapping(said.get("i")).get("sessionID")
        return {"hook_event_name": "UserPromptSubmit", "session_id": session, **time}
    if kind != "event":
        return {"hook_event_name": "PreToolUse", "session_id": "-"}
    of = mapping(said.get("properties"))
    info = mapping(of.get("info"))
    found = _BUS.get(text(said.get("type")), "PreToolUse")
    error = mapping(of.get("error"))
    return {
        "hook_event_name": found,
        "session_id": text(of.get("sessionID")) or text(info.get("id")) or "-",
        "source": "startup",
        "version": info.get("version"),
        "error": text(error.get("name")),
        **({"timestamp": count(message.get("t"))} if found != "PreToolUse" else {}),
    }


_BUS = {
    "session.created": "SessionStart",
    "session.idle": "Stop",
    "session.error": "StopFailure",
    "session.compacted": "PreCompact",
    "session.deleted": "SessionEnd",
}
