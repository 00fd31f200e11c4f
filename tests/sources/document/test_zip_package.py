"""Tests of the checks of ZIP packages."""

import zipfile

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.document.zip_package import check_package, parse_xml
from tests.sources.packages import LAUGHS, package
from tests.support.tiers import slow


@slow
def test_a_package_of_very_many_files_is_refused() -> None:
    """Many empty members have no size, but opening each of them takes time."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        check_package(package(**{f"f{number}": b"" for number in range(20_001)}), 1_000, "an old format")


def test_an_ordinary_package_passes() -> None:
    """A valid package passes, and other data is no package."""
    check_package(package(a=b"x"), 1_000, "an old format")
    with pytest.raises(zipfile.BadZipFile):
        check_package(b"x", 1_000, "an old format")


def test_xml_entities_are_not_expanded() -> None:
    """Entities are not expanded, and nested entities are rejected."""
    for entity in ('"word"', 'SYSTEM "file:///etc/hostname"'):
        assert "".join(parse_xml(f"<!DOCTYPE r [<!ENTITY x {entity}>]><r>&x;</r>").itertext()) in ("", "&x;")
    with pytest.raises(SyntaxError):
        parse_xml(f"{LAUGHS}<r>&e;</r>")


def test_the_encoding_declaration_of_decoded_text_is_ignored() -> None:
    """Decoded text may declare any encoding."""
    assert parse_xml('<?xml version="1.0" encoding="latin-1"?><r>é</r>').text == "é"


def test_damaged_xml_can_be_recovered() -> None:
    """The valid part of damaged XML is parsed on request; without a valid part, parsing fails."""
    assert parse_xml("<r><a>x</r>", recover=True).findtext("a") == "x"
    for damaged in ("<r><a>x</r>", ""):
        with pytest.raises(SyntaxError):
            parse_xml(damaged)
    with pytest.raises(SyntaxError):
        parse_xml("nothing", recover=True)
