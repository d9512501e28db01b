"""`sprintlog mcp`: the sprint as tools, for agents' programs."""

from uuid import uuid4

from sprintlog.engine.extras import check_installed
from sprintlog.engine.own_files import keep_ours

from .. import typed
from ..context import with_sprint
from ..work.prompt_option import prompt_base, with_prompt_file

NEEDED = ("mcp", "mcp_types")


@typed.command("mcp", epilog="Example: sprintlog hooks install claude --mcp")
@typed.option(
    "--read-only",
    "reads_only",
    is_flag=True,
    help="Leave out the tools that record: report, learn, request.",
)
@with_prompt_file
@with_sprint
def command(reads_only: bool, prompt_file: str | None, sprint_id: str | None) -> None:
    """Serve tools for agents over MCP, on standard input and output.

    The agent starts this command. Its tools are status, next, report, learn, request,
    history and query; there are none for gates, rollbacks, restores and rules. It requires
    the extra `mcp`, and ends when its input ends.
    """
    check_installed("mcp", NEEDED, "the tools of MCP need it")
    # Imported here: it takes longer than any other command.
    from .caller import ServedLog
    from .server import serve

    keep_ours()
    base = None if prompt_file is None else prompt_base()
    serve(ServedLog(f"mcp-{uuid4().hex}", sprint_id, prompt_file, base, reads_only))
