"""Packages installed by CI have digests, and a release runs nothing that can change."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sprintlog.projections.state_files.yaml.reader import load

from .tree import ROOT

LOCKED = (ROOT / ".ci" / "locked.txt").read_text()
RELEASE = (ROOT / ".github" / "workflows" / "release.yml").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_PINNED = re.compile(
    r"^([\w.-]+)(?:\[[\w,]+\])?==(\S+)[^\n]*\\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)",
    re.M,
)


@pytest.fixture(scope="module")
def pinned() -> dict[str, list[str]]:
    """Return the versions of each package that has digests."""
    found: dict[str, list[str]] = {}
    for name, version, _ in _PINNED.findall(LOCKED + "\n"):
        found.setdefault(canonicalize_name(name), []).append(version)
    return found


def test_each_locked_package_has_digests(pinned: dict[str, list[str]]) -> None:
    """No line specifies a package by its version only."""
    lines = [line for line in LOCKED.splitlines() if re.match(r"[\w.,[\]-]+==", line)]
    assert len(lines) == sum(map(len, pinned.values())) > 50


def test_what_we_ask_for_is_locked(pinned: dict[str, list[str]]) -> None:
    """Each package in pyproject.toml for users and for `make check` is locked."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["dev"], *extras["judges"]]
    for text in asked:
        one = Requirement(text)
        versions = pinned.get(canonicalize_name(one.name), [])
        assert versions, text
        assert all(one.specifier.contains(version) for version in versions), text


def test_the_extras_of_what_is_locked_are_in_the_list() -> None:
    """Otherwise pip selects a newer version for the extra once it exists, and fails."""
    assert {"coverage[toml]==", "psycopg[binary]==", "pyjwt[crypto]=="} <= {
        line.partition("==")[0] + "==" for line in LOCKED.splitlines()
    }


def test_a_release_runs_what_cannot_change() -> None:
    """Each action is pinned by its commit, and no job has more permissions than stated."""
    jobs = load(RELEASE.encode())["jobs"]
    used = [
        step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step
    ]
    assert len(used) >= 6
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in used)
    assert load(RELEASE.encode())["permissions"] == {}
    assert all("permissions" in job for job in jobs.values())


def test_only_what_was_built_is_published() -> None:
    """The job that signs or publishes builds nothing and has no secret to steal."""
    jobs = load(RELEASE.encode())["jobs"]
    publish = jobs.pop("publish")
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert all("run" not in step for step in publish["steps"])
    assert {*publish["needs"]} == {*jobs}
    assert [job["permissions"] for job in jobs.values()] == [{"contents": "read"}, {}]
    assert "secrets." not in RELEASE
    assert "diff -r dist again" in RELEASE


def test_what_is_built_runs_nothing_without_a_digest() -> None:
    """The job that builds installs by digest; the results are tested in another job."""
    steps = load(RELEASE.encode())["jobs"]["build"]["steps"]
    lines = [line for step in steps for line in step.get("run", "").splitlines()]
    installs = [line for line in lines if "pip install" in line]
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]


def test_who_builds_it_again_gets_the_same_bytes() -> None:
    """The command in SECURITY.md is that of the release, without extra variables."""
    command = "python -m hatchling build"
    assert f"`{command}`" in (ROOT / "SECURITY.md").read_text()
    assert command in RELEASE
    assert "SOURCE_DATE_EPOCH" not in RELEASE
