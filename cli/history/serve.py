"""`sprintlog serve`: sprints in a browser, as they are now."""

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.extras import check_installed
from sprintlog.engine.own_files import keep_ours
from sprintlog.projections.views.log import LogServed

from .. import settings, typed
from ..context import open_workspace, with_json
from ..output import note, print_answer, warn
from ..record import check_actor

NEEDED = ("starlette", "uvicorn", "sse_starlette")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PORT = 8642
ACTOR = "operator:web"


@typed.command(
    "serve",
    epilog="Examples: sprintlog serve\n\nsprintlog serve --write --port 0",
)
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
@typed.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="An accepted host name, besides localhost and addresses.",
)
@typed.option(
    "--write",
    "writes",
    is_flag=True,
    help="Allow decisions, pause, resume and rollback from the page.",
)
@typed.option(
    "--actor",
    envvar="SPRINTLOG_ACTOR",
    default=ACTOR,
    metavar="WHO",
    help=f"The actor of the page: operator or operator:…. [{ACTOR}]",
)
@typed.option("--new-token", is_flag=True, help="Create a new token; old addresses expire.")
@with_json
@click.pass_context
def command(
    context: click.Context,
    host: str,
    port: int,
    names: tuple[str, ...],
    writes: bool,
    actor: str,
    new_token: bool,
    as_json: bool,
) -> None:
    """Serve a live view of the sprints to a browser.

    It prints an address with a token, which the browser then stores in a cookie. Access
    without the token is denied, and the page is read-only without --write. It requires the
    extra `web`. Ctrl-C ends it; open pages reconnect when it is started again.
    """
    check_installed("web", NEEDED, "a live page needs it")
    if check_actor(actor).partition(":")[0] != "operator":
        raise click.UsageError(f"--actor {actor[:40]!r}: give operator or operator:NAME")
    if writes and (off := settings.off_by()) is not None:
        raise RefusedError(
            f"nothing is recorded, so the page can change nothing: {off}",
            hint=f"`{settings.OFF}=0 sprintlog serve --write` records all the same",
        )
    keep_ours()
    # Imported here: they take longer than any other command.
    from ..web.app import Server, ServerSettings, make_app
    from ..web.guard import Access, kept_token
    from ..web.server import Logged, bound, hand_on, logger, made

    with open_workspace() as workspace:
        folder = workspace.location.folder
    listening = bound(host, port)
    found = int(listening.getsockname()[1])
    token = kept_token(folder, is_new=new_token)
    log = logger(as_json=as_json)
    hand_on(log)
    if host not in LOOPBACK:
        warn(f"others can reach {host}: the address and its answers are not encrypted")
    access = Access(token, port=found, names=(*names, host))
    served = ServerSettings(access, writes=writes, actor=actor)
    server = Server(open_workspace, served, log.warning)
    is_verbose = context.find_root().params.get("verbose")
    app = make_app(server)
    at = f"[{host}]" if ":" in host else host
    url = f"http://{at}:{found}/?token={token}"
    print_answer(LogServed(url, host, found, writes), [url], as_json=as_json)
    if not as_json:
        note("Ctrl-C ends it; whoever has this address can read the log")
    made(Logged(app, log.info) if is_verbose else app).run(sockets=[listening])
