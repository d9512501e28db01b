"""The `sprintlog verify head` command: print the log's head, and optionally sign it."""

import os
from pathlib import Path

from msgspec.structs import asdict

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.work_tree.own_paths import know_for_people
from sprintlog.projections.health import proofs
from sprintlog.projections.views.log import HeadAnswer

from .. import typed
from ..context import open_workspace, with_json
from ..output import print_answer


@typed.command("head")
@typed.flag("--sign", help="Sign the head as `ssh-keygen -Y sign` does.")
@typed.file_option(
    "--key", help="The private key, or the public key if ssh-agent has the private key."
)
@typed.file_option("--out", help="The output file. With --sign: [HEAD.txt]")
@typed.flag("--trailer", help="Print the head as a trailer for a commit.")
@with_json
def command(
    sign: bool, key: Path | None, out: Path | None, trailer: bool, as_json: bool
) -> None:
    """Print the log's head, which identifies the log's complete content.

    A copy of the head stored elsewhere, or a signature, later shows whether an earlier
    event was modified.

    Examples: sprintlog verify head --sign --key ~/.ssh/id_ed25519

    git commit --allow-empty -m night --trailer "$(sprintlog verify head --trailer)"
    """
    if sign and key is None:
        raise InvalidInputError(
            "--sign requires a key",
            hint="pass --key ~/.ssh/id_ed25519, or the .pub file of a key in ssh-agent",
        )
    file = out or (Path("HEAD.txt") if sign else None)
    signature = None
    with open_workspace() as workspace:
        head = proofs.head_of(workspace)
        if file is not None:
            replace_file(file, proofs.text_of(head).encode(), mode=0o644)
        if sign and key is not None and file is not None:
            signature = proofs.sign(file, key, os.environ)
        for written in filter(None, (file, signature)):
            know_for_people(workspace, written)
    answer = HeadAnswer(
        **asdict(head),
        file=None if file is None else str(file),
        signature=None if signature is None else str(signature),
    )
    lines = [proofs.trailer(head)] if trailer else proofs.text_of(head).splitlines()
    if file is not None:
        lines = [f"{file}: position {head.position}, {head.hash[:16]}"]
        lines += [] if signature is None else [f"{signature}: its signature"]
    print_answer(answer, lines, as_json=as_json)
