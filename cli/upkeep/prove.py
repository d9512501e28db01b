"""The `sprintlog verify prove` command: a small proof that an event was recorded."""

from pathlib import Path

import click

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.stores.descriptors import read_whole
from sprintlog.engine.service.work_tree.own_paths import know_for_people
from sprintlog.projections.health import proofs
from sprintlog.projections.views.log import ProofAnswer

from .. import typed
from ..context import open_workspace, with_json
from ..output import print_answer


@typed.command("prove")
@typed.argument("position", type=click.IntRange(1))
@typed.file_option(
    "--head",
    "head_file",
    help="A saved head, with its signature in the same folder. [the current head]",
)
@typed.file_option("--out", help="The output file. [proof-POSITION.json]")
@with_json
def command(position: int, head_file: Path | None, out: Path | None, as_json: bool) -> None:
    """Write a proof of one event for someone without access to the log.

    `sprintlog verify --proof FILE` checks the proof, which contains this event and only
    digests of all other events.

    Example: sprintlog verify prove 412 --head HEAD.txt
    """
    signature = None
    with open_workspace() as workspace:
        head = proofs.read_head(head_file) if head_file else proofs.head_of(workspace)
        for problem in proofs.compare(workspace, head):
            raise RefusedError(f"the head does not match the log: {problem}")
        if head_file is not None:
            beside = head_file.with_name(f"{head_file.name}.sig")
            if beside.is_file():
                content = read_whole(beside, at_most=proofs.FILE_BYTES_MAX)
                signature = content.decode("ascii", "replace")
        content = proofs.prove(workspace, position, head, signature)
        file = out or Path(f"proof-{position}.json")
        replace_file(file, content, mode=0o644)
        know_for_people(workspace, file)
    answer = ProofAnswer(
        position=position, file=str(file), is_proof=True, signed_by=None, problems=[]
    )
    said = f"position {position}, to the head of position {head.position}, "
    said += "signed" if signature else "not signed"
    print_answer(answer, [f"{file}: {said}"], as_json=as_json)
