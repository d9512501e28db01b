"""The help of `sprintlog hook`, which records the input of an agent's hook."""

import click

from .. import typed


@typed.command("hook", context_settings={"allow_interspersed_args": False})
@typed.argument("agent", metavar="AGENT")
@typed.argument("more", metavar="[EVENT]", nargs=-1, type=click.UNPROCESSED)
def command(agent: str, more: tuple[str, ...]) -> None:
    """Record a hook call that an agent passes on stdin, as an event of its session.

    AGENT is claude, codex, copilot, cursor, gemini or opencode. The command reads JSON from
    standard input, prints nothing, and always exits with status 0, so it never makes an
    agent wait or stop. If the log is unavailable, events are spooled. Without a log,
    nothing is recorded. For a tool call, the command stores the tool, outcome, exit code,
    duration, paths, lines, digests and the beginning of a command, but never file contents.

    Example: sprintlog hook claude < what-the-hook-was-handed.json
    """
    # Usually not reached: `__main__` starts hooks without click to save time.
    from ..hooking.start import hook

    hook(agent)
