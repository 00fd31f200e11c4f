"""Tests of the decoding of character references."""

import html
import time

import pytest

from tenure.algorithms.text.character_references import decode_character_references


@pytest.mark.parametrize(
    "text", ["&amp; &lt;b&gt;", "&#65;&#x41;&#065", "&#0; &#; &#00; &#1114111; &#1114112;", "a & b"]
)
def test_ordinary_references_are_decoded_as_in_html(text: str) -> None:
    """Names and numbers are decoded, with or without leading zeros and a semicolon."""
    assert decode_character_references(text) == html.unescape(text)


def test_a_number_of_any_length_is_decoded() -> None:
    """A number that is too large is the replacement character, leading zeros do not count, and the time is linear."""
    assert decode_character_references(f"a&#{'1' * 5_000};b") == "a\ufffdb"
    assert decode_character_references(f"a&#{'0' * 5_000}65;b") == "aAb"
    assert decode_character_references(f"a&#x{'1' * 5_000};b") == "a\ufffdb"
    started = time.process_time()
    for endless in ("&#" + "0" * 500_000, "&#" + "1" * 500_000, "&#" * 500_000, "&#00" * 200_000):
        decode_character_references(endless)

    assert time.process_time() - started < 5.0  # 0.5 s
