"""The `sprintlog verify` command: check the log, and the files against recorded events."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.log.envelope import Head
from sprintlog.projections.health import proofs
from sprintlog.projections.health.verify import Verification, verified, verify
from sprintlog.projections.state_files import progress_json
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.views.log import Finding, ProofAnswer
from sprintlog.projections.workspace import Workspace

from .. import output, typed
from ..context import open_workspace, with_json
from ..screen.terminal import ATTENTION, BAD

ENVIRONMENTS = (
    {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "7", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"},
)
TONES = {"damage": BAD, "drift": ATTENTION, "remark": None}


@typed.group(
    "verify",
    lazy={name: f"upkeep.{name}:command" for name in ("head", "prove")},
    invoke_without_command=True,
)
@typed.flag("--full", help="Also read every byte of the snapshots.")
@typed.flag("--quick", help="Only the newest events; trust checkpoints.")
@typed.option(
    "--expect-head", metavar="POSITION:HASH", help="Require the log to contain this head."
)
@typed.file_option(
    "--head",
    "head_file",
    help="Compare with a file from `verify head`; --allowed-signers checks its signature.",
)
@typed.file_option(
    "--allowed-signers",
    "signers",
    help="The accepted keys, in the allowed_signers format of ssh-keygen.",
)
@typed.file_option("--proof", help="Check only a file from `verify prove`; needs no log.")
@typed.flag("--git", "by_git", help="Also compare the heads in commits.")
@typed.flag(
    "--determinism",
    help="Also compute the files in other processes, time zones and locales.",
)
@with_json
def command(
    full: bool,
    quick: bool,
    expect_head: str | None,
    head_file: Path | None,
    signers: Path | None,
    proof: Path | None,
    by_git: bool,
    determinism: bool,
    as_json: bool,
) -> None:
    """Verify the hash chain, gaps, payloads, heads, checkpoints and state files.

    The exit status is 4 for damage or drift; contradictions in imports only cause notes.
    The subcommands write a head or a proof that a later `verify` checks.

    Examples: sprintlog verify --json

    sprintlog verify --expect-head 12:2f1c…  (from an earlier --json answer)
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    expected = _parse_head(expect_head)
    if proof is not None:
        check_proof(proof, signers, as_json=as_json)
        return
    if signers is not None and head_file is None:
        raise click.UsageError("--allowed-signers requires --head or --proof")
    with open_workspace(check_head=False) as workspace:
        progress = output.counting("events checked")
        report = verify(
            workspace, quick=quick, full=full, expected=expected, progress=progress
        )
        found = report.findings
        found += findings_of_head(workspace, head_file, signers) if head_file else ()
        found += findings_of_git(workspace) if by_git else ()
        found += _undetermined(workspace) if determinism else ()
    if as_json:
        output.print_json(verified(report))
    else:
        output.print_styled("\n".join(_lines(report)))
    if not report.is_sound:
        sys.exit(output.INTEGRITY)


def _lines(report: Verification) -> list[str]:
    lines = []
    for found in report.findings:
        said = f"{found.severity}  {found.where}: {found.what}"
        first, *rest = output.wrapped(said, indent="  ")
        word = output.coloured(found.severity, TONES[found.severity])
        lines += [word + first[len(found.severity) :], *rest]
    verdict = "sound" if report.is_sound else "NOT sound"
    if {found.severity for found in report.findings} - {"remark"} == {"drift"}:
        verdict = (
            "the log is sound, its state files are not (`sprintlog rebuild` rewrites them, "
            "`sprintlog adopt` keeps an edit of the plan)"
        )
    lines.append(
        f"{verdict}: {output.counted(report.events, 'event')}, "
        f"{output.counted(report.sprints, 'sprint')}, head {report.head.hash.hex()[:16]}"
    )
    return lines


def _parse_head(text: str | None) -> Head | None:
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,18}):([0-9a-f]{64})", text, re.ASCII)
    if not match or match[1].startswith("0"):
        raise click.UsageError(
            "--expect-head: must be POSITION:HASH with 64 hex digits, as in --json output"
        )
    return Head(int(match[1]), bytes.fromhex(match[2]))


def _undetermined(workspace: Workspace) -> Iterator[Finding]:
    """Yield a finding for each stream whose file is not identical in other environments."""
    ours: dict[str, tuple[bytes, tuple[str, ...]]] = {
        name: (
            render(workspace.repository.from_nothing(name)),
            ("progress", "--sprint", name),
        )
        for name in workspace.sprints()
    }
    if workspace.journal().exists:
        document = workspace.documents.from_nothing(JOURNAL)
        ours["the journal"] = progress_json.render(document), ("journal",)
    for name, (content, shown) in ours.items():
        for environment in ENVIRONMENTS:
            done = subprocess.run(
                # Modules must not be imported from the current folder.
                [sys.executable, "-P", "-m", "sprintlog.cli", "show", *shown],
                env={**os.environ, **environment},
                capture_output=True,
                check=False,
            )
            given = " ".join(f"{key}={value}" for key, value in environment.items())
            if done.returncode:
                # Python may fail to start, for example with LC_ALL=C in a folder with a
                # non-ASCII name. This does not indicate a problem with the log.
                cause = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                yield Finding("remark", name, f"not compared with {given}: {cause}")
            elif done.stdout != content:
                yield Finding("damage", name, f"its file differs with {given}")


def findings_of_head(
    workspace: Workspace, file: Path, signers: Path | None
) -> Iterator[Finding]:
    """Yield differences between the log and a head, and problems with its signature."""
    head = proofs.read_head(file)
    if signers is not None:
        beside = file.with_name(f"{file.name}.sig")
        try:
            said = proofs.text_of(head).encode()
            who = proofs.check_signature(said, beside, signers, os.environ)
            output.note(f"{file} is signed by {who}")
        except RefusedError as error:
            yield Finding("damage", str(file), error.message)
    for problem in proofs.compare(workspace, head):
        yield Finding("damage", str(file), problem)


def findings_of_git(workspace: Workspace) -> Iterator[Finding]:
    """Yield the commits that contain a head that does not exist in the log."""
    count, wrong = proofs.witnessed(workspace)
    verb = "is" if count == 1 else "are"
    output.note(f"{output.counted(count, 'head')} {verb} recorded in commits")
    for commit, what in wrong:
        yield Finding("damage", f"commit {commit[:12]}", what)


def check_proof(file: Path, signers: Path | None, *, as_json: bool) -> None:
    """Check a proof without using a log."""
    proof = proofs.read_proof(file)
    problems = proofs.problems(proof, file=str(file))
    who = None
    if signers is not None:
        try:
            who = _signed_by(proof, signers)
        except RefusedError as error:
            problems.append(error.message)
    at = int(proof.event.get("position", 0))
    answer = ProofAnswer(
        position=at, file=str(file), is_proof=not problems, signed_by=who, problems=problems
    )
    lines = [f"damage  {file}: {problem}" for problem in problems]
    signed = f", signed by {who}" if who else ", by a head with an unchecked signature"
    if not problems:
        erased = ", whose text was erased" if proofs.is_erased(proof) else ""
        lines.append(f"proved: position {at}{erased}{signed}")
    output.print_answer(answer, lines, as_json=as_json)
    if problems:
        sys.exit(output.INTEGRITY)


def _signed_by(proof: proofs.Proof, signers: Path) -> str:
    if proof.signature is None:
        raise RefusedError("the proof's head is not signed")
    with tempfile.NamedTemporaryFile(prefix="sprintlog-sig-") as file:
        file.write(proof.signature.encode())
        file.flush()
        content = proof.head.encode()
        return proofs.check_signature(content, Path(file.name), signers, os.environ)
