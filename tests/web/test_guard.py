"""Access: by host, token, page and method."""

from pathlib import Path

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from sprintlog.cli.web.app import routes_of
from sprintlog.cli.web.guard import HEADERS

from .conftest import HOST, KEY, TOKEN, MakeServer

PATHS = (
    "/",
    "/sprint",
    "/iteration",
    "/events",
    "/metrics",
    "/api/status",
    "/static/live.js",
)


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8642", "127.0.0.1.evil.example", "localhost.evil"),
        *(
            "",
            "[::1",
            "127.0.0.1:8642@evil.example",
            "127.0.0.1:x",
            "evil.example:127.0.0.1",
        ),
    ],
)
def test_a_name_that_was_pointed_here_is_refused(client: TestClient, host: str) -> None:
    """A page with a foreign name for this server's address (DNS rebinding) is refused."""
    for path in (*PATHS, "/healthz"):
        answer = client.get(path, headers={"Host": host})
        assert (answer.status_code, "auth" in answer.text) == (421, False)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9000", "[::1]:8642", "192.168.0.7"]
)
def test_addresses_and_localhost_are_ours(client: TestClient, host: str) -> None:
    """Loopback, forwarded ports and addresses are no names that can be pointed here."""
    assert client.get("/api/status", headers={"Host": host, **KEY}).status_code == 200


def test_every_address_but_health_wants_the_token(
    stranger: TestClient, log: Path, server_of: MakeServer
) -> None:
    """No route answers without the token, and the list of routes is complete."""
    for route in routes_of(server_of(log)):
        assert isinstance(route, Route)
        path = route.path.replace("{command:path}", "status").replace("{name}", "live.js")
        method = "POST" if "POST" in (route.methods or ()) else "GET"
        answer = stranger.request(method, path)
        assert (path, answer.status_code) == (path, 200 if path == "/healthz" else 401)
        assert "auth" not in answer.text


@pytest.mark.parametrize("wrong", ["", "x", TOKEN[:-1], TOKEN + "t", "é" * 43])
def test_a_false_token_opens_nothing(stranger: TestClient, wrong: str) -> None:
    """No other text gives access as a parameter, in a cookie, or in a header."""
    cookie = f"sprintlog-8642={wrong}".encode("latin-1", "replace")
    bearer = f"Bearer {wrong}".encode("latin-1", "replace")
    for headers in ({b"Cookie": cookie}, {b"Authorization": bearer}):
        assert stranger.get("/", headers=headers).status_code == 401
    answer = stranger.get("/", params={"token": wrong})
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


def test_the_first_address_sets_a_cookie_and_goes_on_without_token(
    stranger: TestClient,
) -> None:
    """The cookie is for this server only and hidden from scripts; no link contains it."""
    answer = stranger.get("/sprint", params={"token": TOKEN, "id": "auth"})
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "url=/sprint?id=auth" in answer.text
    assert TOKEN not in answer.text
    assert stranger.get("/sprint?id=auth").status_code == 200
    assert TOKEN not in stranger.get("/sprint?id=auth").text


def test_it_goes_on_to_this_server_only(stranger: TestClient) -> None:
    """A path that would lead to another server is a path on this server."""
    answer = stranger.get(f"http://{HOST}//evil.example/?token={TOKEN}")
    assert "url=/evil.example/" in answer.text


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: TestClient, method: str) -> None:
    """Only GET, HEAD and POST are answered, so preflight requests fail."""
    for path in ("/sprint", "/nowhere", "/healthz"):
        answer = client.request(method, path)
        assert (answer.status_code, "this server answers" in answer.text) == (405, True)
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/main.py"),
        *("/static//etc/passwd", "/static/live.js%00", "/static/....//app.py"),
        *(
            "/api/../../etc/passwd",
            "/api/show%20progress/../../../x",
            "/..%2f..%2fetc/passwd",
        ),
    ],
)
def test_no_path_leads_to_another_file(client: TestClient, path: str) -> None:
    """Files are sent by their name out of a list: no path is made of an address."""
    answer = client.get(f"http://{HOST}{path}")
    assert answer.status_code == 404
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_every_answer_has_the_headers(client: TestClient) -> None:
    """Answers, errors and refusals forbid third-party scripts, frames and copies."""
    for path in ("/", "/sprint?id=auth", "/sprint?id=no", "/api/status", "/nowhere"):
        answer = client.get(path)
        for name, value in HEADERS.items():
            if name != "Content-Security-Policy":
                assert answer.headers[name] == value
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    refused = client.get("/", headers={"Host": "evil.example"})
    assert {name: refused.headers[name] for name in HEADERS} == HEADERS


def test_health_says_nothing_of_the_log(stranger: TestClient) -> None:
    """A monitor may query only whether the log is readable, without the token."""
    answer = stranger.get("/healthz")
    assert (answer.status_code, answer.text) == (200, "ok\n")


def test_a_server_that_only_reads_records_nothing(client: TestClient) -> None:
    """Without `--write`, every form is refused, even a valid one."""
    answer = client.post("/act?do=sprint+pause", headers={"Origin": f"http://{HOST}"})
    assert answer.status_code == 403
    assert "--write" in answer.text
    assert client.get("/api/status").json()["status"] == "in-progress"
