"""`make mutants`: change one line of the sources at a time, and see whether a test fails.

The mutations are drawn by a seed from engine/, projections/ and cli/. Every test runs once
with probes, which show the tests that reach each changed line (--trace). Then only these
tests run with each mutation, for at most 60 seconds (--judge). The default is both.

A survivor must be listed with a reason in tests/mutants/survivors.txt: otherwise the exit
status is 1.
"""

import argparse
import json
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .copies import STOPPED, Copy
from .drawing import COUNT, SEED, draw, locate
from .judging import ALIVE, KILLED, LIMIT_SECONDS, Verdict, judge_all, listed
from .mutations import Mutation
from .tracing import Trace, files_of, run_probed

ROOT = Path(__file__).resolve().parents[2]
SURVIVORS = Path(__file__).with_name("survivors.txt")
KEPT = Path(".mutants")


def main() -> int:
    """Perform the requested steps, and return the exit status."""
    options = _options()
    options.root = options.root.resolve()
    # Shells ignore SIGINT in background processes, and the tests would inherit this.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    if options.list:
        _list(_mutations(options), as_json=options.json)
        return 0
    if options.judge:
        trace = Trace.load(options.judge)
    with _copies(options) as copies:
        if not options.judge:
            trace = _trace(options, copies)
        return 0 if options.trace else _judge(options, trace, copies)


def _stop(number: int, frame: object) -> None:
    STOPPED.set()
    raise SystemExit(128 + number)


def _trace(options: argparse.Namespace, copies: list[Copy]) -> Trace:
    file: Path = options.trace or KEPT / "trace.json"
    if options.resume and file.exists():
        trace = Trace.load(file)
    else:
        trace = Trace(_mutations(options))
    for line in run_probed(trace, files_of(options.root, options.only_tests), copies, file):
        _say(line)
    for name, why in trace.excluded.items():
        _say(f"excluded: {name}: {why}")
    reached = f"{len(trace.reached)} of {len(trace.mutations)} mutations"
    _say(f"{len(trace.tests)} tests, which reach {reached}")
    return trace


def _options() -> argparse.Namespace:
    first, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="make mutants",
        description=f"{first}\n\n{rest}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    given = parser.add_argument
    given("--list", action="store_true", help="print the mutations and exit")
    given(
        "--json", action="store_true", help="with --list: print JSON, as --mutants reads it"
    )
    given("--trace", type=Path, metavar="FILE", help="only trace, and write the result")
    given("--judge", type=Path, metavar="FILE", help="only judge, by a trace in FILE")
    given("--results", type=Path, metavar="FILE", default=KEPT / "results.json")
    given("--resume", action="store_true", help="continue the files of an earlier run")
    given("--root", type=Path, default=ROOT, metavar="FOLDER", help="another checkout")
    given("--mutants", type=Path, metavar="FILE", help="mutations of --list --json")
    given("--only", nargs="+", metavar="KEY", help="only these mutations")
    given("--only-tests", nargs="+", default=["tests"], metavar="PATH")
    given("--workers", type=int, default=2, help="runs at the same time (default: 2)")
    given("--limit", type=float, default=LIMIT_SECONDS, help="seconds per mutation")
    given("--count", type=int, default=COUNT, help=f"mutations to draw (default: {COUNT})")
    given("--seed", type=int, default=SEED, help=f"default: {SEED}")
    given("--survivors", type=Path, default=SURVIVORS, metavar="FILE")
    options = parser.parse_args()
    if options.workers < 1:
        parser.error("--workers must be at least 1")
    return options


def _mutations(options: argparse.Namespace) -> list[Mutation]:
    if options.mutants is None:
        found = draw(options.root, count=options.count, seed=options.seed)
    else:
        stored = json.loads(options.mutants.read_text(encoding="utf-8"))
        stored = stored["mutations"] if isinstance(stored, dict) else stored
        wanted = [Mutation.of(one) for one in stored]
        places = locate(wanted, options.root)
        found = [place for place in places if place is not None]
        for one, place in zip(wanted, places, strict=True):
            if place is None:
                print(f"absent in {options.root.name}: {one.key} {one}", file=sys.stderr)  # noqa: T201
    return [one for one in found if not options.only or one.key in options.only]


def _list(mutations: list[Mutation], *, as_json: bool) -> None:
    if as_json:
        rows = [{"key": one.key, **one._asdict()} for one in mutations]
        _say(json.dumps(rows, indent=1))
        return
    for one in mutations:
        _say(f"{one.key} {one}\n    {one.before}\n    {one.after}")


@contextmanager
def _copies(options: argparse.Namespace) -> Iterator[list[Copy]]:
    folder = Path(tempfile.mkdtemp(prefix="mu-"))
    # The tests' servers run as another user.
    folder.chmod(0o755)
    try:
        copies = []
        for number in range(options.workers):
            (folder / str(number)).mkdir()
            copies.append(Copy(options.root, folder / str(number)))
        yield copies
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _judge(options: argparse.Namespace, trace: Trace, copies: list[Copy]) -> int:
    mutations = [x for x in trace.mutations if not options.only or x.key in options.only]
    verdicts: dict[str, Verdict] = {}
    if options.resume and options.results.exists():
        stored = json.loads(options.results.read_text(encoding="utf-8"))["mutations"]
        verdicts = {one["key"]: Verdict(**one["verdict"]) for one in stored}
    todo = [one for one in mutations if one.key not in verdicts]
    if moved := [name for name in trace.imports if not (options.root / name).exists()]:
        raise SystemExit(f"error: the trace is out of date: {moved[0]} does not exist")
    for mutation, verdict in judge_all(todo, trace, copies, options.limit):
        verdicts[mutation.key] = verdict
        _say(_row(mutation, verdict))
        _save(options, trace, verdicts)
    return _report(mutations, verdicts, listed(options.survivors))


def _row(mutation: Mutation, verdict: Verdict) -> str:
    by = f" by {verdict.killer}" if verdict.killer else ""
    if not verdict.killer and verdict.reached_by:
        by = f" ({verdict.ran} of {verdict.reached_by} tests ran)"
    unstable = "".join(f"\n    unstable: {test}" for test in verdict.unstable)
    return f"{mutation.key} {mutation}: {verdict.status}{by}{unstable}"


def _save(options: argparse.Namespace, trace: Trace, verdicts: dict[str, Verdict]) -> None:
    judged = [one for one in trace.mutations if one.key in verdicts]
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"],
        cwd=options.root,
        capture_output=True,
        text=True,
        check=False,
    )
    stored: dict[str, Any] = {
        "commit": done.stdout.strip() or None,
        "python": platform.python_version(),
        "killed": sum(verdicts[one.key].status == KILLED for one in judged),
        "of": len(judged),
        "excluded": trace.excluded,
        "mutations": [
            {"key": one.key, **one._asdict(), "verdict": asdict(verdicts[one.key])}
            for one in judged
        ],
    }
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def _report(
    mutations: list[Mutation], verdicts: dict[str, Verdict], known: dict[str, str]
) -> int:
    """Print the survivors and the total; return 1 if a survivor is not listed."""
    alive = [one for one in mutations if verdicts[one.key].status in ALIVE]
    unknown = [one for one in alive if one.key not in known]
    for one in alive:
        reason = known.get(one.key, "not listed")
        _say(f"\n{_row(one, verdicts[one.key])}: {reason}")
        _say(f"    {one.before}\n    {one.after}")
    for key in known.keys() - {one.key for one in alive}:
        judged = key in verdicts
        _say(f"listed as a survivor, but {'killed' if judged else 'not drawn'}: {key}")
    killed = len(mutations) - len(alive)
    _say(f"\nkilled {killed} of {len(mutations)}; survivors not listed: {len(unknown)}")
    return 1 if unknown else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
