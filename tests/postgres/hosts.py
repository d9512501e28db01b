"""Three machines that run three sprints of one log, and are killed during their work."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

from sprintlog.engine.log.stores.postgres.address import parse

SPRINTS = ("auth", "docs", "speed")
PHASES = ("a", "b", "c")
HOSTS = ("one", "two", "three")
ENDED, BUSY = 0, 5
PLAN = "phases: [" + ", ".join(f"{{id: {name}, prompt: x}}" for name in PHASES) + "]"
# No host may finish before one has died.
HELD = "nobody-died-yet"
AGENT = (
    "sh", "-c",
    'cat >/dev/null; sleep 0.2; while [ -e "$1" ]; do sleep 0.02; done; echo done', "sh",
)  # fmt: skip
SECONDS_MAX = 900.0

Result = dict[str, tuple[str, list[str]]]


class Host:
    """A machine with a separate name, home and work tree."""

    def __init__(self, name: str, folder: Path, url: str) -> None:
        self.name = name
        self.tree = folder / name / "tree"
        self.tree.mkdir(parents=True)
        self.held = folder / HELD
        self.loop: subprocess.Popen[bytes] | None = None
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder / name), "LC_ALL": "C.UTF-8",
            "SPRINTLOG_HOST": name, "SPRINTLOG_LOG": url,
        }  # fmt: skip

    def done(self, *words: str) -> str:
        """Run a command to its end and return its output."""
        ran = subprocess.run(
            [sys.executable, "-m", "sprintlog.cli", *words],
            cwd=self.tree, env=self._environment, capture_output=True, check=False,
            timeout=SECONDS_MAX,
        )  # fmt: skip
        assert ran.returncode == 0, (words, ran.stderr.decode())
        return ran.stdout.decode()

    def begin(self, sprint: str) -> None:
        """Start to run a sprint."""
        words = ("run", "--sprint", sprint, "--", *AGENT, str(self.held))
        self.loop = subprocess.Popen(
            [sys.executable, "-m", "sprintlog.cli", *words],
            cwd=self.tree, env=self._environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def die(self) -> None:
        """End immediately, with all processes here."""
        assert self.loop is not None
        os.killpg(self.loop.pid, signal.SIGKILL)
        self.loop.communicate(timeout=SECONDS_MAX)
        self.loop = None


class Night:
    """Three sprints on three machines, completed despite deaths."""

    def __init__(self, folder: Path, url: str, chance: random.Random) -> None:
        self.hosts = [Host(name, folder, url) for name in HOSTS]
        self.kills = 0
        self.problems: list[str] = []
        self._chance = chance
        self._server = parse(url).given
        first = self.hosts[0]
        first.done("init")
        (first.tree / "plan.yaml").write_text(PLAN)
        for name in SPRINTS:
            first.done(
                "sprint", "create", name, "--plan", "plan.yaml", "--sprint-dir", name
            )

    def pass_by(self, *, kills: int) -> Result:
        """Let the machines work until all sprints are finished; return the result."""
        if kills:
            self.hosts[0].held.touch()
        left, until = list(SPRINTS), time.monotonic() + SECONDS_MAX
        at_work: dict[str, str] = {}
        when = self._next_death()
        while left and not self.problems and time.monotonic() < until:
            for host in self.hosts:
                if host.loop is None and left:
                    at_work[host.name] = self._chance.choice(left)
                    host.begin(at_work[host.name])
                elif host.loop is not None and host.loop.poll() is not None:
                    self._ended(host, at_work[host.name], left)
            if self.kills < kills and time.monotonic() >= when:
                self._kill_one()
                when = self._next_death()
            time.sleep(0.02)
        for host in self.hosts:
            if host.loop is not None:
                host.loop.communicate(timeout=SECONDS_MAX)
        if left:
            self.problems.append(f"{left} did not come to an end")
        return {name: self._result(name) for name in SPRINTS}

    def _next_death(self) -> float:
        return time.monotonic() + self._chance.uniform(0.2, 3.0)

    def _ended(self, host: Host, sprint: str, left: list[str]) -> None:
        assert host.loop is not None
        _, said = host.loop.communicate(timeout=SECONDS_MAX)
        code, host.loop = host.loop.returncode, None
        if code == ENDED and sprint in left:
            left.remove(sprint)
        elif code not in (ENDED, BUSY) and sprint in left:
            self.problems.append(f"{host.name}: {sprint}: {code}: {said.decode()}")

    def _kill_one(self) -> None:
        at_work = [host for host in self.hosts if host.loop is not None]
        if not at_work:
            return
        host = self._chance.choice(at_work)
        host.die()
        self.kills += 1
        host.held.unlink(missing_ok=True)
        if self._chance.random() < 0.5:
            return
        # The host is away until its lease has expired.
        with psycopg.connect(self._server, autocommit=True) as raw:
            over = "UPDATE sprintlog.leases SET expires = now() WHERE host = %s"
            raw.execute(over, (host.name,))

    def _result(self, sprint: str) -> tuple[str, list[str]]:
        """Return the status of a sprint, and its phases in order of completion."""
        said = self.hosts[0].done("status", "--sprint", sprint, "--json")
        status: dict[str, Any] = json.loads(said)
        lines = self.hosts[0].done("log", "--sprint", sprint, "--json")
        events = [json.loads(line) for line in lines.splitlines()]
        completed = [
            event["data"]["phase"] for event in events if event["type"] == "phase-completed"
        ]
        return status["status"], completed
