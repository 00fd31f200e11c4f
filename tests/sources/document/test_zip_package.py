"""What is checked of a package before it is unpacked."""

import zipfile

import pytest

from tenure.sources.document.document import Unreadable
from tenure.sources.document.zip_package import check_package, parse_xml
from tests.sources.packages import LAUGHS, package


def test_a_package_of_very_many_files_is_refused() -> None:
    """Empty files add up to nothing, but opening each of them takes time."""
    with pytest.raises(Unreadable, match="unpacks to far more than a document"):
        check_package(package(**{f"f{number}": b"" for number in range(20_001)}), 1_000, "an old format")


def test_an_ordinary_package_passes() -> None:
    """Nothing is said of a package that is fine, and one that is none is said to be none."""
    check_package(package(a=b"x"), 1_000, "an old format")
    with pytest.raises(zipfile.BadZipFile):
        check_package(b"x", 1_000, "an old format")


def test_xml_is_read_without_entities() -> None:
    """An entity stays unread, whether it is a word or a file of this machine; entities of entities are refused."""
    for entity in ('"word"', 'SYSTEM "file:///etc/hostname"'):
        assert "".join(parse_xml(f"<!DOCTYPE r [<!ENTITY x {entity}>]><r>&x;</r>").itertext()) in ("", "&x;")
    with pytest.raises(SyntaxError):
        parse_xml(f"{LAUGHS}<r>&e;</r>")


def test_text_is_read_whatever_encoding_it_declares() -> None:
    """A declaration is over once text was decoded."""
    assert parse_xml('<?xml version="1.0" encoding="latin-1"?><r>é</r>').text == "é"


def test_damage_can_be_passed_over() -> None:
    """What is left of damaged XML is read on demand; where nothing is left, it is none."""
    assert parse_xml("<r><a>x</r>", recover=True).findtext("a") == "x"
    for damaged in ("<r><a>x</r>", ""):
        with pytest.raises(SyntaxError):
            parse_xml(damaged)
    with pytest.raises(SyntaxError):
        parse_xml("nothing", recover=True)
