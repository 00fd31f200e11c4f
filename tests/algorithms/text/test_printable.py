"""Tests of the escapes for characters that act on a terminal or hide from a reader."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.text.printable import (
    escape_control_characters,
    escape_json,
    format_json,
    remove_control_characters,
)

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "plain text,\n\tin lines",
            "Grüße – “quoted” … 100 €",
            "日本語、中文、한국어",
            "Ελληνικά, русский",
            "e\u0301",
        ),
        *("می\u200cخواهم", "क्\u200dष", "שלום\u200e abc", "abc \u200fשלום", "ไทย ພາສາ"),
        *(FAMILY, ENGLAND, "\u2764\ufe0f", "1\ufe0f\u20e3", "\U0001f3f3\ufe0f\u200d\U0001f308", "葛\U000e0100"),
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Scripts with joiners and direction marks, emoji and flags are shown as they are."""
    assert escape_control_characters(text) == text
    assert remove_control_characters(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x9b31m\x9d8;;x\x9c\x90", "\\x9b31m\\x9d8;;x\\x9c\\x90"),
        ("a\rb\bc\x7f\x00\x0b\x0c\x85", "a\\x0db\\x08c\\x7f\\x00\\x0b\\x0c\\x85"),
        ("a\u202egnp.exe\u2066\u2069", "a\\u202egnp.exe\\u2066\\u2069"),
        ("pass\u200bword pass\u00adword \ufeff\u2060", "pass\\u200bword pass\\xadword \\ufeff\\u2060"),
        ("a\u200db \u200e\u200fx", "a\\u200db \\u200e\\u200fx"),
        ("\u05d0\u200e\u200e\u200e", "\u05d0\\u200e\\u200e\\u200e"),
        ("hi\U000e0068\U000e0069", "hi\\U000e0068\\U000e0069"),
        ("\U0001f600\ufe00\ufe01\ufe02", "\U0001f600\ufe00\\ufe01\\ufe02"),
        ("葛\U000e0100\U000e0101", "葛\U000e0100\\U000e0101"),
        ("\u3164\u115f\uffa0\u180e", "\\u3164\\u115f\\uffa0\\u180e"),
        ("line\u2028line\u2029", "line\\u2028line\\u2029"),
        ("\ud800\udfff", "\\ud800\\udfff"),
    ],
)
def test_what_acts_or_hides_is_escaped(text: str, shown: str) -> None:
    """Control sequences, changes of direction, hidden text and surrogates are written out."""
    assert escape_control_characters(text) == shown


@given(st.text(st.characters(codec=None), max_size=30))
def test_no_control_character_is_left(text: str) -> None:
    """Whatever the text, nothing acts on a terminal, and escaping twice changes nothing."""
    for cleaned in (escape_control_characters(text), remove_control_characters(text)):
        assert not [c for c in cleaned if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t"]
        assert not set(cleaned) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff")
        cleaned.encode()
    assert escape_control_characters(escape_control_characters(text)) == escape_control_characters(text)


@given(st.text(max_size=30))
def test_json_keeps_every_character(text: str) -> None:
    """In JSON they are escapes of JSON, so nothing is lost."""
    written = format_json({"text": text})

    assert json.loads(written) == {"text": text}
    assert escape_control_characters(written) == written
    assert json.loads(escape_json(json.dumps(text, ensure_ascii=False))) == text
