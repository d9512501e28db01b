"""The current upcasts: there is one for every shape ever stored."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log import upcast
from sprintlog.engine.log.codec import Codec
from sprintlog.engine.service.streams import catalogue
from sprintlog.engine.sprint.events import EVENTS, Source, SprintCompiled

from .test_upcast import stored


@pytest.mark.parametrize(
    ("shape", "sources"),
    [
        (b'{"document":{},"source":"plan.yaml"}', (Source("plan.yaml"),)),
        (b'{"document":{},"source":null}', ()),
        (b'{"document":{}}', ()),
    ],
)
def test_one_source_becomes_the_only_one(shape: bytes, sources: tuple[Source, ...]) -> None:
    """A plan of the first shape has the source it named, or none."""
    event = stored(shape, schema_version=1, tag="sprint-compiled")
    assert catalogue.CODEC.decode(event) == SprintCompiled({}, sources=sources)


@pytest.mark.parametrize("payload", [b'{"document":{},"source":7}', b" 3", b"null"])
def test_old_shape_is_damaged_like_any_other(payload: bytes) -> None:
    """A step passes on unknown data, and reading refuses it."""
    event = stored(payload, schema_version=1, tag="sprint-compiled")
    with pytest.raises(UnreadableError, match=r"position 7: .* is damaged"):
        catalogue.CODEC.decode(event)


def test_payload_of_today_is_the_stored_one() -> None:
    """Only an older shape is encoded again; erased events stay erased."""
    old = stored(b'{"source":"x","document":{}}', schema_version=1, tag="sprint-compiled")
    now = stored(b'{"sources":[],"document":{}}', schema_version=2, tag="sprint-compiled")
    gone = stored(None, schema_version=1, tag="sprint-compiled")
    today = catalogue.CODEC.today
    assert today(old) == b'{"document":{},"sources":[{"path":"x"}]}'
    assert today(now) is now.payload
    assert today(gone) is None


@pytest.mark.parametrize("step", upcast.UPCASTS)
def test_program_does_not_start_without_a_step(
    step: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the step, the program fails when it starts."""
    fewer = {key: value for key, value in upcast.UPCASTS.items() if key != step}
    with pytest.raises(ValueError, match=rf"no upcast from .*{step[0]}"):
        Codec(EVENTS, fewer)
    monkeypatch.setattr(upcast, "UPCASTS", fewer)
    spec = spec_from_file_location(f"{catalogue.__name__}_anew", catalogue.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ValueError, match=rf"no upcast from .*{step[0]}"):
        spec.loader.exec_module(module_from_spec(spec))
