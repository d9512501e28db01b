"""Reads XML from a stranger, element by element: no entities, bounded, no tree built."""

from collections.abc import Callable
from typing import Any

from .report import DEPTH_MAX, VALUES_MAX, Report

Attributes = dict[str, str]


class _Enough(Exception):  # noqa: N818
    """The first element is all that was asked for."""


def walk(
    report: Report,
    *,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None] = lambda tag: None,
    text: Callable[[str], None] = lambda text: None,
) -> None:
    """Call `start` with each element's tag and attributes, and `end` after what is in it.

    `text` gets what stands between tags, in pieces.
    A document type that only names its definition is passed over, as that of some
    Cobertura reports: nothing is fetched. Any declaration within the file is refused.
    """
    # Imported here: whoever reads no XML needs none of it.
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    class Parser(DefusedXMLParser):
        def defused_start_doctype_decl(
            self, name: Any, sysid: Any, pubid: Any, has_internal_subset: Any
        ) -> None:
            if has_internal_subset:
                super().defused_start_doctype_decl(name, sysid, pubid, has_internal_subset)

    parser = Parser(target=_Target(report, start, end, text), forbid_dtd=True)
    try:
        # All at once: some versions of expat read a long token anew with each piece.
        parser.feed(report.content)
        parser.close()
    except DefusedXmlException as error:
        raise report.bad("declares entities or a document type of its own") from error
    except ParseError as error:
        line, _ = error.position
        raise report.bad(f"not well-formed XML: {error}", line=line) from error
    except (ValueError, LookupError) as error:
        raise report.bad(f"not XML that can be read: {error}") from error


def root_of(report: Report) -> tuple[str, Attributes]:
    """Return the tag and the attributes of a report's first element."""
    found: list[tuple[str, Attributes]] = []

    def start(tag: str, attributes: Attributes) -> None:
        found.append((tag, attributes))
        raise _Enough

    try:
        walk(report, start=start)
    except _Enough:
        return found[0]
    raise report.bad("holds no element")


class _Target:
    def __init__(
        self,
        report: Report,
        start: Callable[[str, Attributes], None],
        end: Callable[[str], None],
        text: Callable[[str], None],
    ) -> None:
        self._report, self._start, self._end, self.data = report, start, end, text
        self._depth = self._elements = 0

    def start(self, tag: str, attributes: Attributes) -> None:
        self._depth += 1
        self._elements += 1
        if self._depth > DEPTH_MAX:
            raise self._report.bad(f"nested deeper than {DEPTH_MAX} levels")
        if self._elements > VALUES_MAX:
            raise self._report.bad(f"holds more than {VALUES_MAX} elements")
        self._start(_local(tag), attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._end(_local(tag))

    def close(self) -> None:
        pass


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
