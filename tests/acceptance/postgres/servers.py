"""A log on a server: crashes, networks that break, headers by the million, followers."""

import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg

from sprintlog.engine.log.chain import check_chain
from tests.postgres.conftest import made
from tests.postgres.headers import compared
from tests.postgres.hosts import Night, Result
from tests.postgres.outages import Writers, faults_of, followed, opened
from tests.postgres.pairs import Pair
from tests.postgres.pooler import Pooler
from tests.postgres.proxy import Proxy
from tests.postgres.server import NEWEST, SERVERS, NoServerError, Server, programs_of

from ..criterion import Skip, Verdict

ROUNDS, WRITERS, APPENDS = 20, 16, 10_000
CRASHES_A_ROUND = 3
HEADERS = 1_000_000
SAID_EVERY_SECONDS = 10
SAID_EVERY_HEADERS = 100_000
FAILOVERS, FAILOVER_APPENDS = 10, 100
HOST_KILLS, HOST_KILLS_A_NIGHT = 50, 10
FOLLOWED_WRITERS, FOLLOWED_APPENDS, ROLLBACKS = 32, 4_000, 10


def crashes(data: Path, seed: int) -> Verdict:
    """Writers lose and duplicate nothing while the server crashes repeatedly.

    Sixteen writers share one log, and one has a separate log, which requires no queue.
    """
    chance, problems, done = random.Random(seed), [], 0
    with closing(_Servers()) as servers:
        pg = servers.new()
        for number in range(ROUNDS):
            url, alone_at = pg.new_url(), pg.new_url()
            made(url).close()
            made(alone_at).close()
            writers = Writers(url, writers=WRITERS, appends=APPENDS // WRITERS)
            alone = Writers(alone_at, writers=1, appends=APPENDS // WRITERS)
            marks = sorted(chance.sample(range(100, APPENDS - 1000), CRASHES_A_ROUND))
            writers.start()
            alone.start()
            while writers.is_going_on() or alone.is_going_on():
                if marks and sum(writers.acknowledged.values()) >= marks[0]:
                    marks.pop(0)
                    pg.stop("immediate")
                    pg.start()
                    done += 1
                time.sleep(0.005)
            writers.wait()
            alone.wait()
            _say(f"round {number + 1} of {ROUNDS}, {done} crashes")
            found = [*faults_of(url, writers), *faults_of(alone_at, alone)]
            problems += [f"round {number}: {one}" for one in found]
    said = (
        f"{ROUNDS} times {APPENDS} appends by {WRITERS} writers, one alone, {done} crashes"
    )
    return Verdict(not problems and done >= ROUNDS, said, problems)


def networks(data: Path, seed: int) -> Verdict:
    """Events survive a connection that breaks, delays and loses answers."""
    with closing(_Servers()) as servers:
        pg = servers.new()
        names = []
        for _ in range(2):
            with closing(made(pg.new_url())) as log:
                names.append(log.address.log)
        proxy = Proxy(pg.port, share=0.2, seed=seed)
        url, alone_at = (pg.url_by_tcp(name, port=proxy.port) for name in names)
        writers = Writers(url, writers=WRITERS, appends=250)
        alone = Writers(alone_at, writers=1, appends=250)
        writers.start()
        alone.start()
        _watch(writers, WRITERS * 250)
        _watch(alone, 250)
        proxy.close()
        problems = faults_of(pg.url(names[0]), writers)
        problems += faults_of(pg.url(names[1]), alone)
    faults = ", ".join(f"{count} {name}" for name, count in sorted(proxy.done.items()))
    return Verdict(not problems, f"{WRITERS * 250 + 250} appends: {faults}", problems)


def failovers(data: Path, seed: int) -> Verdict:
    """Writers continue with a standby after a failover: no event is lost or duplicated."""
    chance, problems = random.Random(seed), []
    for number in range(FAILOVERS):
        try:
            pair = Pair()
        except NoServerError as error:
            raise Skip(str(error)) from error
        try:
            log = pair.new_log()
            pair.be_waited_for()
            writers = Writers(pair.url(log), writers=WRITERS, appends=FAILOVER_APPENDS)
            writers.start()
            least = chance.randrange(WRITERS * FAILOVER_APPENDS // 2)
            while writers.is_going_on() and sum(writers.acknowledged.values()) < least:
                time.sleep(0.01)
            pair.fail_over()
            _watch(writers, WRITERS * FAILOVER_APPENDS)
            found = faults_of(pair.standby.url(log), writers)
            problems += [f"round {number}: {one}" for one in found]
        finally:
            pair.remove()
        _say(f"round {number + 1} of {FAILOVERS}")
    said = f"{FAILOVERS} standbys took over from {WRITERS} writers"
    return Verdict(not problems, said, problems)


def pooled(data: Path, seed: int) -> Verdict:
    """Through a pooler in transaction mode, events and sprints are unchanged."""
    with closing(_Servers()) as servers:
        try:
            pooler = Pooler(servers.new())
        except NoServerError as error:
            raise Skip(str(error)) from error
        with closing(pooler):
            url = pooler.new_url()
            made(url).close()
            writers = Writers(url, writers=WRITERS, appends=250)
            writers.start()
            _watch(writers, WRITERS * 250)
            problems = faults_of(url, writers)
            with tempfile.TemporaryDirectory() as name:
                night = Night(Path(name), pooler.new_url(), random.Random(seed))
                found = night.pass_by(kills=0)
                problems += night.problems
    ended = sum(status == "completed" for status, _ in found.values())
    said = f"{WRITERS * 250} appends by {WRITERS} writers, {ended} sprints"
    return Verdict(not problems and ended == len(found), said, problems)


def headers(data: Path, seed: int) -> Verdict:
    """Headers have the same bytes there and here, a million of them."""
    different, asked = 0, []
    with closing(_Servers()) as servers:
        for version in SERVERS:
            try:
                pg = servers.new(version)
            except NoServerError:
                continue
            made(pg.new_url()).close()
            with psycopg.connect(pg.url(), autocommit=True) as connection:
                tell = partial(_say_at_times, version)
                different += compared(connection, HEADERS, seed=seed, tell=tell)
            asked.append(version)
    said = f"{HEADERS} random headers on {' and '.join(asked)}, {different} different"
    return Verdict(bool(asked) and not different, said, [])


def following(data: Path, seed: int) -> Verdict:
    """Check that readers receive events once, in order, during appends and rollbacks."""
    with closing(_Servers()) as servers:
        pg = servers.new()
        url = pg.new_url()
        made(url).close()
        began = time.monotonic()
        problems = followed(
            url, writers=FOLLOWED_WRITERS, appends=FOLLOWED_APPENDS, rollbacks=ROLLBACKS,
            tell=_every_so_often(f"of {FOLLOWED_WRITERS * FOLLOWED_APPENDS} events read"),
        )  # fmt: skip
        took = time.monotonic() - began
    events = FOLLOWED_WRITERS * FOLLOWED_APPENDS
    said = f"{FOLLOWED_WRITERS} writers, {ROLLBACKS} that roll back, {events} events"
    return Verdict(not problems, f"{said} in {took:.0f} s", problems)


def _every_so_often(what: str) -> Callable[[int], None]:
    said = time.monotonic()

    def tell(count: int) -> None:
        nonlocal said
        if time.monotonic() - said >= SAID_EVERY_SECONDS:
            said = time.monotonic()
            _say(f"{count} {what}")

    return tell


def _watch(writers: Writers, count: int) -> None:
    """Wait for writers, and print their progress from time to time."""
    said = time.monotonic()
    while writers.is_going_on():
        time.sleep(0.05)
        if time.monotonic() - said >= SAID_EVERY_SECONDS:
            said = time.monotonic()
            _say(f"{sum(writers.acknowledged.values())} of {count} appends")
    writers.wait()


def _say_at_times(version: str, done: int) -> None:
    if done % SAID_EVERY_HEADERS == 0:
        _say(f"{version}: {done} of {HEADERS} headers")


def _say(what: str) -> None:
    print(f"      … {what}", file=sys.stderr, flush=True)


def hosts(data: Path, seed: int) -> Verdict:
    """Three machines that run three sprints end them the same, whichever is killed."""
    chance, kills, nights = random.Random(seed), 0, 0
    problems: list[str] = []
    with closing(_Servers()) as servers:
        pg = servers.new()
        calm, _, problems = _night(pg, chance, kills=0)
        while kills < HOST_KILLS and not problems:
            wanted = min(HOST_KILLS_A_NIGHT, HOST_KILLS - kills)
            found, killed, problems = _night(pg, chance, kills=wanted)
            kills, nights = kills + killed, nights + 1
            _say(f"night {nights}: {kills} of {HOST_KILLS} kills")
            if found != calm:
                problems.append(f"night {nights}: {found} is not {calm}")
            if not killed:
                problems.append(f"night {nights} was over before a machine was killed")
    said = f"{kills} kills of 3 machines over {nights} nights of 3 sprints"
    return Verdict(not problems, said, problems)


def _night(
    pg: Server, chance: random.Random, *, kills: int
) -> tuple[Result, int, list[str]]:
    with tempfile.TemporaryDirectory() as name:
        url = pg.new_url()
        night = Night(Path(name), url, chance)
        found = night.pass_by(kills=kills)
        with closing(opened(url)) as log:
            wrong = [str(problem) for problem in check_chain(log.read())]
    return found, night.kills, [*night.problems, *wrong]


class _Servers:
    """The separate servers of a criterion."""

    def __init__(self) -> None:
        self._made: list[Server] = []

    def new(self, version: str = NEWEST) -> Server:
        """Start a server; raise `Skip` if the newest version is unavailable."""
        try:
            self._made.append(Server(programs_of(version)))
        except NoServerError as error:
            if version != NEWEST:
                raise
            raise Skip(str(error)) from error
        return self._made[-1]

    def close(self) -> None:
        """Remove them."""
        for server in self._made:
            server.remove()
