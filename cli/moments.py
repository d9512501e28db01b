"""Points and times as people say them, read in the local zone and told as understood."""

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.streams.points import FORMS
from sprintlog.engine.sprint.state.times import to_text

from .output import note
from .screen import spoken_times
from .screen.terminal import clock
from .screen.times import moment_of, told

ISO = "a time; give ISO 8601 with a zone, like 2026-01-15T09:00:00Z"


def read_moment(text: str, *, field: str, is_since: bool, takes_days: bool) -> str:
    """Return a time in ISO 8601 from what a person typed, and say which one it is.

    Raise `InvalidInputError` for what is neither a point nor such a time.
    """
    said = repr(text[:60])
    try:
        now = moment_of(clock() * 1000)
        found = spoken_times.moment(text, now=now, zone=None, is_since=is_since)
        if found is not None and not takes_days and spoken_times.is_day(text):
            raise spoken_times.NotAMomentError(
                "give its time of day too, like 'yesterday 9:00'"
            )
    except (spoken_times.NotAMomentError, OverflowError) as error:
        raise InvalidInputError(f"{said}: {error}", field=field) from error
    if found is None:
        what = (
            f"a point in the log; give {FORMS}" if takes_days else "a time; give ISO 8601"
        )
        hint = f"times can be said like {spoken_times.FORMS}"
        points = ("best", "start") if takes_days else ()
        raise InvalidInputError(
            f"{said} is not {what}",
            field=field,
            hint=hint,
            unknown=(text, (*points, *spoken_times.WORDS)),
        )
    note(f"{said} is {told(found, zone=None)}")
    return to_text(found)
