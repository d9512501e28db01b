"""Field types for untrusted documents, and fields that accept only certain values."""

from typing import Annotated, Any, ClassVar

import pydantic
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from sprintlog.engine.sprint.state import words


class OneOf:
    """Accepts one of the given words; the error for any other word lists them all."""

    def __init__(self, allowed: tuple[str, ...]) -> None:
        self._allowed = allowed

    def __get_pydantic_core_schema__(
        self, source: object, handler: pydantic.GetCoreSchemaHandler
    ) -> CoreSchema:
        text = core_schema.str_schema(strict=True)
        return core_schema.no_info_after_validator_function(self._check, text)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: pydantic.GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"enum": list(self._allowed)}

    def _check(self, word: str) -> str:
        if word not in self._allowed:
            raise PydanticCustomError(
                "word",
                "{word} is unknown; allowed: {allowed}",
                {"word": repr(word[:40]), "allowed": ", ".join(self._allowed)},
            )
        return word


Text = Annotated[str, pydantic.Field(strict=True)]
Flag = Annotated[bool, pydantic.Field(strict=True)]
Count = Annotated[int, pydantic.Field(strict=True, ge=0)]
Identity = Annotated[str, pydantic.Field(strict=True, min_length=1, max_length=128)]

Model = Annotated[str, OneOf(words.MODELS)]
Mode = Annotated[str, OneOf(words.MODES)]


def kebab(name: str) -> str:
    """Return a field's key in the document."""
    return name.rstrip("_").replace("_", "-")


class Open(pydantic.BaseModel):
    """A mapping that preserves keys not defined by the schema."""

    known_beside: ClassVar[tuple[str, ...]] = ()
    """Keys that have no field but are not mistakes."""
    takes_any: ClassVar[bool] = False
    """Whether unknown keys are accepted as intentional."""

    model_config = pydantic.ConfigDict(
        extra="allow", alias_generator=kebab, protected_namespaces=(), frozen=True
    )
