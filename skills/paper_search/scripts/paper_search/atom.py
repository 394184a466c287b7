"""XML of strangers: no document type, hence no entities to blow up."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any
from xml.parsers import expat

from paper_search.errors import SourceError


def parse_xml(body: bytes) -> ET.Element:
    """The root element. Raises SourceError for XML that is broken or declares a document type."""
    guard = expat.ParserCreate()
    guard.StartDoctypeDeclHandler = _refuse
    try:
        guard.Parse(body, True)
        return ET.fromstring(body)
    except (expat.ExpatError, ET.ParseError, ValueError, LookupError) as error:
        raise SourceError("bad_answer", f"the answer is not well-formed XML: {error}") from error


def _refuse(*_declared: Any) -> None:
    raise SourceError("bad_answer", "the answer declares an XML document type, which is refused")
