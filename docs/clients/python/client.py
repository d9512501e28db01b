"""A small client of `sprintlog rpc` in Python, with the standard library alone.

In a work tree with a sprint: `python client.py [PROGRAM WORD ...]`. It records a note, asks
where the sprint stands, and follows what was recorded. It is for a Python that sprintlog is
not installed in; where it is, `import sprintlog` does the same without a server.
"""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any


class RequestError(Exception):
    """A request that was refused, or that failed; `data` has the fields of `--json`."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data: dict[str, Any] = error.get("data", {})


class Client:
    """A server that was started; it is used by one thread."""

    def __init__(
        self, *, actor: str, program: Sequence[str] = ("sprintlog", "rpc")
    ) -> None:
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._number = 0
        self._events: deque[dict[str, Any]] = deque()
        self.ask("initialize", protocol=1, actor=actor)

    def ask(self, method: str, **params: Any) -> Any:
        """Return an answer; raise `RequestError`. Events are kept meanwhile."""
        assert self._process.stdin is not None
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        while True:
            found = self._next()
            if found.get("method") == "event":
                self._events.append(found["params"]["event"])
            elif found.get("id") == self._number:
                if "error" in found:
                    raise RequestError(found["error"])
                return found["result"]

    def follow(self, after: int) -> Iterator[dict[str, Any]]:
        """Yield each event after a position, and wait for those that come."""
        self.ask("follow", after=after)
        while True:
            while self._events:
                yield self._events.popleft()
            found = self._next()
            if found.get("method") == "event":
                self._events.append(found["params"]["event"])

    def close(self) -> int:
        """End the server once all is answered; return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait()
        self._process.stdout.close()
        return code

    def _next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the server has ended")
        found: dict[str, Any] = json.loads(line)
        return found


def main() -> None:
    """Record, ask, be refused, and follow."""
    client = Client(actor="agent:python", program=sys.argv[1:] or ("sprintlog", "rpc"))
    note = {"type": "add-note", "text": "from Python"}
    # With a key it is there once, however often it is sent.
    recorded = client.ask("record", command=note, key="python-1")
    status = client.ask("ask", question="status")
    print(f"{status['sprint']} is {status['status']}")
    try:
        client.ask("record", command={"type": "start-phase", "phase": "nowhere"})
    except RequestError as error:
        print(f"refused ({error.code}): {error}")
    event = next(client.follow(recorded["position"] - 1))
    print(f"{event['type']} by {event['actor']}: {json.dumps(event['data'])}")
    sys.exit(client.close())


if __name__ == "__main__":
    main()
