"""Keys that no field has: most are allowed and do nothing, and many are slips."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel

Path = tuple[str | int, ...]
MESSAGE = "is no field here, and does nothing"


class Unknown(NamedTuple):
    """A key that no field has."""

    path: Path
    close: str | None
    """The known key that was probably meant."""

    @property
    def hint(self) -> str | None:
        """Return what was probably meant, in words."""
        return f"did you mean {self.close}?" if self.close else None


def unknown_keys(model: type[BaseModel], data: Any, path: Path = ()) -> Iterator[Unknown]:
    """Yield the keys that a model does not know, in the order of the document."""
    if not isinstance(data, dict):
        return
    fields = _fields(model)
    known = [*fields, *getattr(model, "known_beside", ())]
    takes_any = getattr(model, "takes_any", False)
    for key, value in data.items():
        if key in fields:
            yield from _below(fields[key], value, (*path, key))
        elif key not in known:
            close = _close_to(str(key), known)
            # Where any key may stand, only what looks like a slip is told.
            if close or not takes_any:
                yield Unknown((*path, key), close)


def _close_to(key: str, known: Sequence[str]) -> str | None:
    """Return the known key that was probably meant."""
    word = key.replace("_", "-")
    # Two letters in each other's place look further away than they are.
    same_letters = (one for one in known if sorted(one) == sorted(word))
    close = get_close_matches(word, known, n=1, cutoff=0.7)
    return next(same_letters, close[0] if close else None)


def _below(annotation: Any, value: Any, path: Path) -> Iterator[Unknown]:
    """Yield the unknown keys of a field's value, by the models in its type."""
    kinds = get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from unknown_keys(annotation, value, path)
    elif (within := get_origin(annotation)) in (list, dict):
        if isinstance(value, within):
            for key, one in value.items() if within is dict else enumerate(value):
                yield from _below(kinds[-1], one, (*path, key))
    else:
        for kind in kinds:
            yield from _below(kind, value, path)


@cache
def _fields(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return a model's fields by the names that documents have for them."""
    return {
        field.alias or name: field.annotation for name, field in model.model_fields.items()
    }
