"""The compose file of a shared log: its references exist, and its workers work."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from sprintlog.engine.log.stores.postgres.address import parse
from sprintlog.engine.service.streams.catalogue import SPRINTS
from sprintlog.engine.service.streams.repository import Repository

from ...postgres.outages import opened
from ...postgres.server import NEWEST, server, why_not
from ..sessions import ROOT

FILES = ROOT / "docs" / "integrations" / "postgresql"
WORKERS = ("one", "two")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """Provide the file as data."""
    read: dict[str, Any] = yaml.safe_load((FILES / "compose.yaml").read_text())
    return read


def test_what_it_names_is_there(compose: dict[str, Any]) -> None:
    """All referenced services, secrets, volumes and files are defined."""
    services = compose["services"]
    assert {*services} == {"log", *WORKERS}
    for service in services.values():
        assert {*service["secrets"]} <= {*compose["secrets"]}
        assert {*service.get("depends_on", {})} <= {*services}
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (FILES / source).exists()
            else:
                assert source in compose["volumes"]
    assert services["log"]["healthcheck"]["test"]


def test_its_server_keeps_what_it_acknowledged(compose: dict[str, Any]) -> None:
    """The settings that a log asks for are on, and the data is in a volume."""
    log = compose["services"]["log"]
    assert {"fsync=on", "full_page_writes=on"} <= {*log["command"]}
    assert log["volumes"] == ["log:/var/lib/postgresql"]


def test_its_workers_have_names_and_one_log(compose: dict[str, Any]) -> None:
    """Each worker has its service's name, and no address contains a password."""
    for name in WORKERS:
        said = compose["services"][name]["environment"]
        assert said["SPRINTLOG_HOST"] == name
        address = parse(said["SPRINTLOG_LOG"])
        assert (address.log, address.has_secret) == ("demo", False)


@pytest.mark.long
def test_its_workers_bring_their_sprints_to_the_end(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    """Each instruction is performed on a test server; a repeated start ends at once."""
    if reason := why_not(NEWEST):
        pytest.skip(reason)
    url = server(NEWEST).new_url()
    (tmp_path / "password").write_text("secret")
    programs = tmp_path / "programs"
    programs.mkdir()
    # The package to be downloaded is already installed here.
    (programs / "pip").write_text("#!/bin/sh\nexit 0\n")
    (programs / "pip").chmod(0o755)
    for name in (*WORKERS, WORKERS[0]):
        service = compose["services"][name]
        tree = tmp_path / name
        tree.mkdir(exist_ok=True)
        *shell, script = service["command"]
        plan = next(v for v in service["volumes"] if v.startswith("./")).split(":")
        script = script.replace("$$", "$").replace(plan[1], str(FILES / plan[0]))
        script = script.replace("/run/secrets/password", str(tmp_path / "password"))
        path = os.pathsep.join([str(programs), str(Path(sys.executable).parent)])
        ran = subprocess.run(
            [*shell, script], cwd=tree, stdin=subprocess.DEVNULL, capture_output=True,
            env={
                "PATH": f"{path}:/usr/bin:/bin", "HOME": str(programs), "LC_ALL": "C.UTF-8",
                **service["environment"], "SPRINTLOG_LOG": url,
            },
            text=True, check=False, timeout=120,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    with closing(opened(url)) as log:
        sprints = Repository(log, SPRINTS, log.checkpoints)
        assert [sprints.current(name).plan.status for name in WORKERS] == ["completed"] * 2
