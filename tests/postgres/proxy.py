"""A proxy that cuts, delays and tears connections to a server, even after a COMMIT."""

import random
import socket
import struct
import threading
import time
from collections import Counter
from contextlib import suppress

PIECE = 1 << 16
TEAR, LOSE_ANSWER, DELAY, CUT = "tear", "lose-answer", "delay", "cut"
FAULTS = (TEAR, LOSE_ANSWER, DELAY, CUT)
_ANSWER_SECONDS = 5.0
_DELAY_SECONDS = 0.02


class Proxy:
    """Pass messages on to a server on this machine, and damage a part of them."""

    def __init__(self, port: int, *, share: float, seed: int) -> None:
        self.share = share
        self.done: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._server = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no further connection."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection(("127.0.0.1", self._server))
        except OSError:
            client.close()
            return
        heard = threading.Event()
        muted = threading.Event()
        back = threading.Thread(
            target=self._answers, args=(server, client, heard, muted), daemon=True
        )
        back.start()
        with suppress(OSError):
            while said := client.recv(PIECE):
                fault = self._fault(said)
                if fault:
                    self.done[fault] += 1
                if fault == CUT:
                    break
                if fault == TEAR:
                    server.sendall(said[: len(said) // 2])
                    break
                if fault == LOSE_ANSWER:
                    # The server processes the request, but the answer is lost.
                    muted.set()
                    heard.clear()
                    server.sendall(said)
                    heard.wait(_ANSWER_SECONDS)
                    break
                if fault == DELAY:
                    time.sleep(_DELAY_SECONDS)
                server.sendall(said)
        for end in (client, server):
            _break(end)

    def _fault(self, said: bytes) -> str | None:
        # Connections that are accepted can then be disturbed.
        if b"sprintlog.append" not in said or self._chance.random() >= self.share:
            return None
        return self._chance.choice(FAULTS)

    def _answers(
        self,
        server: socket.socket,
        client: socket.socket,
        heard: threading.Event,
        muted: threading.Event,
    ) -> None:
        with suppress(OSError):
            while said := server.recv(PIECE):
                heard.set()
                if not muted.is_set():
                    client.sendall(said)
        heard.set()
        _break(client)


def _break(end: socket.socket) -> None:
    """Close a connection like a failed network, without a shutdown."""
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        end.close()
