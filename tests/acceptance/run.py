"""`make accept`: the long form of the checks, one PASS or FAIL line per criterion.

Criteria about real documents require a folder of such documents (`--data`) and are
otherwise skipped. The exit status is 1 if any criterion fails.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import fuzzing, installing, laws, lives, source_faults, verdicts
from .crashes import (
    concurrency,
    damage,
    file_faults,
    kills,
    loops,
    nights,
    power_cuts,
    redactions,
    snapshots,
    work_trees,
)
from .criterion import Skip, Verdict
from .live_agents import first_minutes, hooked, plugins, recording, tooled, turns
from .postgres import on_servers, servers
from .programs import gates, hooks, requests, wrapped
from .real_data import (
    agents,
    definitions,
    documents,
    going_on,
    journals,
    masking,
    recorded_hooks,
    time_travel,
)
from .scale import exchange, following, pages

ROOT = Path(__file__).resolve().parent.parent.parent

Criterion = Callable[[Path, int], Verdict]

CRITERIA: dict[str, Criterion] = {
    "documents go in and come out": documents.come_back,
    "js-yaml's own output comes out byte for byte": documents.same_bytes,
    "Node reads our files the same": documents.read_by_node,
    "lost files come back, in any environment": documents.rebuilt_anywhere,
    "the past of real sprints is what their files say": time_travel.agrees_with_the_files,
    "definitions become what their compiler made": definitions.compiled_cases,
    "real definitions are recorded or refused": definitions.real_definitions,
    "laws hold over many examples": laws.hold,
    "next and hints lead on from 20,000 states": lives.lead_on,
    "no rollback takes an iteration that is as good": lives.go_back,
    "state files follow however commands end": lives.settle,
    "the laws find planted defects": lives.planted_defects,
    "masking finds no secrets where there are none": masking.finds_nothing,
    "the tests find faults in the sources": source_faults.are_found,
    "the demo plays": laws.demo,
    "pip, pipx and uv install the wheel": installing.from_the_wheel,
    "10,000 kills lose, double and block nothing": kills.survive,
    "races leave no gap and no false answer": concurrency.race,
    "followers see every event once": following.while_appended,
    "eight writers see no edit that nobody made": concurrency.no_false_drift,
    "no hand edit is lost": concurrency.no_lost_edit,
    "every effective flipped bit is found": damage.flipped,
    "cut tails and older logs are found": damage.cut,
    "the intact part of a damaged log is saved": damage.salvaged,
    "a million events are exported and imported": exchange.there_and_back,
    "a salvage that fails or is killed changes nothing": damage.salvage_faults,
    "every file operation fails or is killed": file_faults.every_operation,
    "the sweep finds planted defects": file_faults.planted_defects,
    "a redaction killed anywhere is finished or not begun": redactions.killed,
    "full and read-only disks lose nothing": file_faults.small_disks,
    "lost answers, signals and limits": file_faults.endings,
    "readers of foreign input never break": fuzzing.readers,
    "no mutated line makes a decoder break or invent a figure": fuzzing.figures,
    "no mutated line makes an importer break or invent a figure": fuzzing.imports,
    "real journals are taken over whole": journals.texts,
    "the journal's example comes from commands": journals.example,
    "agents' real output is understood": agents.understood,
    "iterations end with what agents printed": agents.heard,
    "every answer is by `rpc` what it is by a process": requests.same_answers,
    "10,000 requests of two programs lose and double nothing": requests.mixed,
    "10,000 requests of eight to one server lose and double nothing": requests.shared,
    "1 GiB passes through wrap in constant memory": wrapped.constant_memory,
    "hooks make the same sessions in any order": recorded_hooks.same_sessions,
    "a call by hook, stream and transcript is one event": recorded_hooks.one_event_a_call,
    "eight hooks end while the log is locked": hooks.eight_while_locked,
    "status does not notice 100,000 tool calls": hooks.many_calls,
    "live-agents: real programs are recorded as their server says": (
        recording.as_the_server_says
    ),
    "live-hooks: real programs' hooks report all their work": hooked.tell_all,
    "live-plugins: real programs install and use the plugins": plugins.are_accepted,
    "live-tools: a real program works with three sprintlog tools": tooled.works_with_tools,
    "live-turns: three turns are recorded like three wraps": turns.as_wraps,
    "live-turns: refused claims and background tasks continue a turn": turns.continued,
    "live-turns: sessions mix with wraps, worktrees, each other and kills": turns.mixed,
    "live-start: two commands and a minute lead to an iteration": first_minutes.in_time,
    "hostile gates get their verdict and leave nothing": gates.hostile,
    "a killed gate costs no retry": gates.killed,
    "a killed loop ends like one nobody disturbed": loops.killed,
    "a goal is reached the same by a killed loop": loops.killed_goal,
    "nights of killed loops end the same": nights.killed,
    "scripted nights get the verdict written before": verdicts.as_expected,
    "10,000 iterations take no more memory and files": nights.long,
    "the page of 100,000 events is at most 300 KB": pages.long_page,
    "pages open for 8 hours keep their memory": pages.live_for_hours,
    "a real sprint goes on to its end under our rules": going_on.to_the_end,
    "every iteration's files come back exactly": snapshots.every_iteration,
    "a killed restore is finished and loses nothing": snapshots.killed,
    "a restore of many files outlives kills at any moment": snapshots.killed_at_random,
    "random histories of work trees contradict no rule": work_trees.random_histories,
    "power cuts lose nothing acknowledged": power_cuts.images,
    "the images show planted defects": power_cuts.planted_defects,
    "servers that crash lose and double nothing": servers.crashes,
    "networks to a server that break lose nothing": servers.networks,
    "scenarios end the same with a log on a server": on_servers.scenarios,
    "commands answer the same with a log on a server": on_servers.commands,
    "a standby that takes over has what was answered": servers.failovers,
    "a pooler in transaction mode changes nothing": servers.pooled,
    "a server makes our headers, a million of them": servers.headers,
    "three machines end sprints the same, whoever dies": servers.hosts,
    "a follower of a log on a server sees each event once": servers.following,
}
LIVE = (
    *(recording.as_the_server_says, hooked.tell_all),
    *(plugins.are_accepted, tooled.works_with_tools),
    *(turns.as_wraps, turns.continued, turns.mixed, first_minutes.in_time),
)
"""Those that run agents' programs."""


def main() -> int:
    """Run the criteria and print a line for each; return 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT / "data", help="a folder of real documents"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--only", default="", help="criteria whose name holds this")
    parser.add_argument(
        "--every", type=int, default=1, metavar="K", help="fail every K-th file operation"
    )
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="how long each reader is fuzzed"
    )
    parser.add_argument(
        "--readers", nargs="+", default=(), help="the readers that are fuzzed, by name"
    )
    parser.add_argument(
        "--agents", type=Path, help="a folder with agents' programs in node_modules/.bin"
    )
    options = parser.parse_args()
    failed = 0
    for name, criterion in CRITERIA.items():
        if options.only not in name:
            continue
        if criterion in (file_faults.every_operation, redactions.killed):
            criterion = partial(criterion, every=max(1, options.every))
        if criterion is fuzzing.readers:
            criterion = partial(
                criterion, minutes=options.minutes, only=tuple(options.readers)
            )
        if options.agents is not None:
            at = options.agents.resolve()
            if criterion in LIVE:
                criterion = partial(criterion, folder=at)
        began = time.monotonic()
        try:
            verdict = criterion(options.data, options.seed)
        except Skip as reason:
            print(f"SKIP  {name}: {reason}", flush=True)
            continue
        failed += not verdict.passed
        word = "PASS" if verdict.passed else "FAIL"
        seconds = time.monotonic() - began
        print(
            f"{word}  {name}: {verdict.counts}  [seed {options.seed}, {seconds:.0f} s]",
            flush=True,
        )
        for line in () if verdict.passed else verdict.problems[:20]:
            print(f"      {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
