"""One reader fed for a while: guided by coverage if atheris is installed, else randomly.

`python -m tests.fuzz.covered TARGET SECONDS FOLDER` writes its statistics into
`FOLDER/seen`: the number of inputs, the slowest and its time. An input that broke the
reader is in `FOLDER/broke`, and the exit status is not 0.
"""

import json
import sys
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from .mutate import near

try:
    import atheris
except ImportError:
    atheris = None

INPUT_BYTES_MAX = 1 << 16
INPUT_SECONDS_MAX = 25
MEMORY_MIB_MAX = 2048


class Feeder:
    """Feeds a reader, and collects statistics."""

    def __init__(self, name: str, folder: Path) -> None:
        from .targets import TARGETS, run

        scratch = folder / "scratch"
        scratch.mkdir()
        self.folder = folder
        self.target = TARGETS[name]
        self._read, self._run = self.target.open(scratch), run
        self.count = 0
        self.slowest = 0.0

    def feed(self, content: bytes) -> None:
        """Feed one input; store it if it is the slowest, or breaks the reader."""
        self.count += 1
        began = time.process_time()
        try:
            self._run(self._read, content)
        except BaseException:
            (self.folder / "broke").write_bytes(content)
            (self.folder / "why").write_text(traceback.format_exc())
            raise
        if (took := time.process_time() - began) > self.slowest:
            self.slowest = took
            (self.folder / "slowest").write_bytes(content)
            self.tell()
        elif not self.count % 1000:
            self.tell()

    def tell(self) -> None:
        """Write the statistics."""
        seen = {"count": self.count, "slowest": self.slowest}
        (self.folder / "seen").write_text(json.dumps(seen))


def by_coverage(name: str, seconds: int, folder: Path) -> None:
    """Feed inputs that reach new lines; this never returns."""
    with atheris.instrument_imports(include=["sprintlog"], enable_loader_override=False):
        feeder = Feeder(name, folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, content in enumerate(feeder.target.corpus()):
        (corpus / str(number)).write_bytes(content[:INPUT_BYTES_MAX])
    options = (
        *(f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}"),
        *(f"-timeout={INPUT_SECONDS_MAX}", f"-rss_limit_mb={MEMORY_MIB_MAX}"),
        *(f"-artifact_prefix={folder}/", "-print_final_stats=0", "-verbosity=0"),
    )
    atheris.Setup([sys.argv[0], *options, str(corpus)], feeder.feed)
    atheris.Fuzz()


def by_chance(name: str, seconds: int, folder: Path) -> None:
    """Feed inputs close to known ones."""
    feeder = Feeder(name, folder)
    until = time.monotonic() + seconds
    inputs = near(feeder.target.corpus())

    @settings(
        max_examples=500,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(inputs)
    def fed(content: bytes) -> None:
        if time.monotonic() < until:
            feeder.feed(content)

    while time.monotonic() < until:
        fed()
    feeder.tell()


def main() -> None:
    """Feed the reader that is named."""
    name, seconds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    (by_chance if atheris is None else by_coverage)(name, seconds, folder)


if __name__ == "__main__":
    main()
