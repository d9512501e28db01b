"""What else bears witness to a log: heads that were written down, proofs, commits."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sprintlog.engine.errors import RefusedError
from sprintlog.projections.health.verify import Finding
from sprintlog.projections.trust import heads, proofs
from sprintlog.projections.views.trust import ProofAnswer
from sprintlog.projections.workspace import Workspace

from ..output import INTEGRITY, counted, note, print_answer


def findings_of_head(
    workspace: Workspace, file: Path, signers: Path | None
) -> Iterator[Finding]:
    """Yield what of a log is not as a head says, and what is wrong with its signature."""
    head = heads.read_head(file)
    if signers is not None:
        beside = file.with_name(f"{file.name}.sig")
        try:
            who = heads.check_signature(head.text.encode(), beside, signers, os.environ)
            note(f"{file} is signed by {who}")
        except RefusedError as error:
            yield Finding("damage", str(file), error.message)
    for problem in heads.compare(workspace, head):
        yield Finding("damage", str(file), problem)


def findings_of_git(workspace: Workspace) -> Iterator[Finding]:
    """Yield which commits name a head that the log does not have."""
    count, wrong = heads.witnessed(workspace)
    is_one = count == 1
    note(f"{counted(count, 'head')} {'is' if is_one else 'are'} named by commits")
    for commit, what in wrong:
        yield Finding("damage", f"commit {commit[:12]}", what)


def check_proof(file: Path, signers: Path | None, *, as_json: bool) -> None:
    """Check a proof, without a log."""
    proof = proofs.read_proof(file)
    problems = proofs.problems(proof, file=str(file))
    who = None
    if signers is not None:
        try:
            who = _signed_by(proof, signers)
        except RefusedError as error:
            problems.append(error.message)
    position = int(proof.event.get("position", 0))
    answer = ProofAnswer(
        position=position,
        file=str(file),
        is_proof=not problems,
        signed_by=who,
        problems=problems,
    )
    lines = [f"damage  {file}: {problem}" for problem in problems]
    signed = f", signed by {who}" if who else ", by a head that nobody was asked about"
    if not problems:
        erased = ", whose words were erased" if proofs.is_erased(proof) else ""
        lines.append(f"proved: position {position}{erased}{signed}")
    print_answer(answer, lines, as_json=as_json)
    if problems:
        sys.exit(INTEGRITY)


def _signed_by(proof: proofs.Proof, signers: Path) -> str:
    if proof.signature is None:
        raise RefusedError("its head is not signed")
    with tempfile.NamedTemporaryFile(prefix="sprintlog-sig-") as file:
        file.write(proof.signature.encode())
        file.flush()
        content = proof.head.encode()
        return heads.check_signature(content, Path(file.name), signers, os.environ)
