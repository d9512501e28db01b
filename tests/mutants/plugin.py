"""The pytest plugin of a copy: the selection of tests, their times and their names.

It is installed in the environment of the copy, in a folder shared with the tool.
"""

import os
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .probe import CURRENT, VARIABLE, append

_HERE = os.path.dirname(os.path.abspath(__file__))
_TIMES = os.path.join(_HERE, "times")
_SELECTED = os.path.join(_HERE, "selected")

_seconds: dict[str, float] = {}
_outcomes: dict[str, str] = {}


def _note(what: str, seconds: float, name: str) -> None:
    append(_TIMES, f"{what}\t{seconds:.6f}\t{name}")


def _announce(name: str) -> None:
    with open(CURRENT, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(name)


@contextmanager
def _named(label: str) -> Iterator[None]:
    """Set the name of something other than a test as the current one."""
    kept = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = label
    _announce(label)
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if kept is not None:
            os.environ[VARIABLE] = kept
        _announce(kept or "")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Keep the selected tests that other plugins keep, in the order of the selection."""
    yield
    if core := sys.modules.get("hypothesis.core"):
        # With different examples, a failing test might not fail when repeated.
        core.global_force_seed = 0  # type: ignore[attr-defined]
    for item in items:
        shared = ",".join(sorted(set(getattr(item, "fixturenames", ()))))
        _note("uses", 0, f"{item.nodeid}\t{shared}")
    if not os.path.exists(_SELECTED):
        return
    with open(_SELECTED, encoding="utf-8", errors="surrogateescape") as file:
        order = {name: number for number, name in enumerate(file.read().split("\0"))}
    left_out = [item for item in items if item.nodeid not in order]
    config.hook.pytest_deselected(items=left_out)
    chosen = (item for item in items if item.nodeid in order)
    items[:] = sorted(chosen, key=lambda item: order[item.nodeid])


def pytest_runtest_logstart(nodeid: str) -> None:
    """Record that a test starts."""
    _announce(f"{nodeid} (call)")
    _note("start", time.time(), nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record how long a test took and how it ended, when all its parts are done."""
    name = report.nodeid
    _seconds[name] = _seconds.get(name, 0) + report.duration
    if report.outcome != "passed" or name not in _outcomes:
        _outcomes[name] = report.outcome
    if report.when == "teardown":
        _note(_outcomes.pop(name), _seconds.pop(name), name)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Record how long a module takes to import, and name it in the meantime."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    begun = time.perf_counter()
    with _named(f"{collector.nodeid} (collect)"):
        report = yield
    _note("file", time.perf_counter() - begun, collector.nodeid)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Name a fixture shared by several tests while it is created."""
    if fixturedef.scope == "function":
        return (yield)
    with _named(f"{fixturedef.argname}\t{fixturedef.baseid} (fixture)"):
        return (yield)
