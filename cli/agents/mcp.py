"""The `sprintlog mcp` command: access to a sprint through MCP tools for agents."""

import os
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sprintlog.engine.extras import check_installed
from sprintlog.engine.own_files import keep_ours

from .. import typed
from ..context import open_workspace, with_sprint
from ..prompt_option import prompt_base, prompt_file_in, with_prompt_file

if TYPE_CHECKING:
    from ..mcp.caller import ServedLog

NEEDED = ("mcp", "mcp_types")


@typed.command("mcp")
@typed.flag(
    "--read-only", "reads_only", help="Omit the tools that record: report, learn, request."
)
@with_prompt_file
@with_sprint
def command(reads_only: bool, prompt_file: str | None, sprint_id: str | None) -> None:
    """Serve tools for agents over MCP on standard input and output.

    The agent starts this command. Its tools are status, next, report, learn, request,
    history and query; there are no tools for gates, rollbacks, restores or rules. It also
    offers resources and prompts. The command requires the extra `mcp`, and ends when its
    input ends.

    Example: sprintlog setup claude
    """
    check_installed("mcp", NEEDED, "the tools of MCP need it")
    # Imported here: the import takes longer than any other command.
    from ..mcp.server import serve

    keep_ours()
    base = None if prompt_file is None else prompt_base()
    template = partial(prompt_file_in, named=prompt_file, base=base)
    session = f"mcp-{uuid4().hex}"
    serve(served(session, sprint_id, prompt_file=template, reads_only=reads_only))


def served(session: str, sprint_id: str | None = None, **more: Any) -> "ServedLog":
    """Return the log and the functions that the command line provides to the MCP server."""
    from sprintlog.engine.sessions.work import CORRELATION, work_in

    from ..mcp.caller import ServedLog
    from ..record import check_is_on, refresh_stream

    work = work_in(os.environ) if CORRELATION in os.environ else session
    own = open_workspace, check_is_on, refresh_stream
    return ServedLog(*own, session, work, sprint_id, **more)
