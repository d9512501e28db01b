"""The `sprintlog serve` command: a live view of the sprints in a browser."""

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sprintlog.engine import errors, extras, own_files
from sprintlog.engine.service.place.location import state_folder
from sprintlog.projections.views.log import LogServed
from sprintlog.projections.workspace import Workspace

from .. import settings, typed
from ..context import open_workspace, with_json, with_logs
from ..output import note, print_answer, warn
from ..record import Options, Recording, check_actor, check_is_on, refresh_stream

if TYPE_CHECKING:
    from ..web.actions import WebHost

NEEDED = ("starlette", "uvicorn", "sse_starlette")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORT = 8642
ACTOR = "operator:web"


@typed.command("serve")
@with_logs
@typed.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="The address to listen on; loopback is not reachable by others. [127.0.0.1]",
)
@typed.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    metavar="N",
    help=f"The port; 0 selects a free one. [{PORT}]",
)
@typed.list_option(
    "--name",
    "names",
    metavar="HOST",
    help="Accept a host name, in addition to localhost and IP addresses.",
)
@typed.flag(
    "--write", "writes", help="Allow decisions, pause, resume and rollback from the page."
)
@typed.option(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default=ACTOR,
    metavar="WHO",
    help=f"The actor of changes made on the page: operator or operator:…. [{ACTOR}]",
)
@typed.flag("--new-token", help="Create a new token; old addresses become invalid.")
@with_json
@click.pass_context
def command(
    context: click.Context,
    logs: dict[str, str],
    host: str,
    port: int,
    names: tuple[str, ...],
    writes: bool,
    actor: str,
    new_token: bool,
    as_json: bool,
) -> None:
    """Serve a live view of the sprints to a browser, also of several logs.

    The command prints an address with a token, which the browser then stores in a cookie.
    Access without the token is denied, and the page is read-only without --write. The
    command requires the extra `web`. Ctrl-C stops the server; open pages reconnect after a
    restart.

    Examples: sprintlog serve

    sprintlog serve --log ~/api --log ~/web

    sprintlog serve --write --port 0
    """
    extras.check_installed("web", NEEDED, "a live page needs it")
    if check_actor(actor).partition(":")[0] != "operator":
        raise click.UsageError(f"--actor {actor[:40]!r}: must be operator or operator:NAME")
    if writes and (off := settings.off_by()) is not None:
        raise errors.RefusedError(
            f"the page cannot change anything: {off}",
            hint=f"run `{settings.OFF}=0 sprintlog serve --write` to record anyway",
        )
    own_files.keep_ours()
    # Imported here: the imports take longer than any other command.
    from ..web.app import Server, ServerSettings, make_app
    from ..web.guard import Access, kept_token
    from ..web.server import Logged, bound, hand_on, logger, made

    opens = {name: partial(open_workspace, log) for name, log in logs.items()}
    opens = opens or {"": partial(open_workspace)}
    if len(opens) > 1:
        # The address of one log must not give access to others.
        folder = (state_folder(os.environ) or Path(os.devnull)) / "serve"
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        with next(iter(opens.values()))() as workspace:
            folder = workspace.location.folder
    listening = bound(host, port)
    found = int(listening.getsockname()[1])
    token = kept_token(folder, is_new=new_token)
    log = logger(as_json=as_json)
    hand_on(log)
    if host not in LOOPBACK:
        warn(f"others can reach {host}, and the connection is not encrypted")
    access = Access(token, port=found, names=(*names, host))
    served = ServerSettings(access, served_by(), writes=writes, actor=actor)
    server = Server(opens, served, log.warning)
    is_verbose = context.find_root().params.get("verbose")
    app = make_app(server)
    at = f"[{host}]" if ":" in host else host
    url = f"http://{at}:{found}/?token={token}"
    print_answer(LogServed(url, host, found, writes), [url], as_json=as_json)
    if not as_json:
        note("press Ctrl-C to stop; anyone with this address can read the log")
    made(Logged(app, log.info) if is_verbose else app).run(sockets=[listening])


def served_by() -> "WebHost":
    """Return the functions that the command line provides to the web server."""
    from sprintlog.engine.sessions.work import work_in
    from sprintlog.projections.text.openmetrics import openmetrics
    from sprintlog.projections.text.stops import status_answer
    from sprintlog.projections.views.events import said_of

    from ..back.rollback import step_back
    from ..back.way_back import Step, file_lines, perform, plan_line, planned
    from ..web.actions import WantedAction, WebHost

    def step(
        workspace: Workspace, wanted: WantedAction, expect: int | None = None
    ) -> tuple[Recording, Step]:
        given = {"sprint_id": wanted.sprint_id, "actor": wanted.actor, "expect": expect}
        run = Recording("rollback", Options({**given, "as_json": True}), workspace)
        form = wanted.given
        of_plan, reason = form.get("files") != "yes", form.get("reason")
        return run, step_back(run, form["to"], (), reason, of_plan=of_plan, of_files=False)

    def plan(workspace: Workspace, wanted: WantedAction) -> list[str]:
        answer, turn = planned(*step(workspace, wanted))
        lines = [] if turn is None else [plan_line(turn)]
        return [*lines, *file_lines(answer.files)]

    def metrics(workspace: Workspace) -> str:
        found = [
            status_answer(workspace, workspace.sprint(name)) for name in workspace.sprints()
        ]
        return openmetrics(workspace.log.head().position, found)

    def roll_back(*wanted: Any) -> None:
        perform(*step(*wanted))

    own, work = (check_is_on, refresh_stream), work_in(os.environ)
    return WebHost(*own, metrics, said_of, plan, roll_back, work)
