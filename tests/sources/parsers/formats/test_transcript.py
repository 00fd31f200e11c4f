"""Tests of the transcript parser."""

import pytest

from tenure.contracts.evidence.places import DocumentPlace
from tenure.sources.document.document import Document, Unreadable
from tenure.sources.parsers.formats.transcript import parse_transcript
from tests.architecture.text_functions import TextFunction

ZOOM = """WEBVTT

1
00:04:01.680 --> 00:04:02.770
Ann Lee: Hey, Bo.

2
00:04:03.430 --> 00:04:04.509
Ann Lee: We ship on Friday.

3
01:04:06.750 --> 01:04:08.130
Bo Ek: Good: on Friday.
"""
TEAMS = """WEBVTT

NOTE written by a program

0f0c/12-0
00:00:03.000 --> 00:00:05.000
<v Ann Lee>We ship &amp; test
on <b>Friday</b>.</v>

0f0c/13-0
00:00:05.000 --> 00:00:07.000
<v.loud Bo Ek>Why?</v>
"""
ROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.000 align:start position:0%

we<00:00:00.500><c> ship</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
we ship


00:00:02.010 --> 00:00:04.000 align:start position:0%
we ship
on<00:00:02.500><c> Friday</c>

00:00:04.000 --> 00:00:06.000 align:start position:0%
on Friday
on Friday at noon
"""


def say(document: Document) -> list[tuple[str, str]]:
    """Return the label of each place with the words from there to the next one."""
    ends = [*(place.start for place in document.places[1:]), len(document.text)]
    return [
        (place.label, document.text[place.start : end].strip())
        for place, end in zip(document.places, ends, strict=True)
    ]


def test_speakers_of_a_meeting_have_paragraphs_and_times() -> None:
    """Cues of one speaker are one paragraph, and the place of a sentence is the time of its own cue."""
    document = parse_transcript(ZOOM)

    assert document.text == "Ann Lee: Hey, Bo. We ship on Friday.\n\nBo Ek: Good: on Friday."
    assert say(document) == [
        ("00:04:01, Ann Lee", "Ann Lee: Hey, Bo."),
        ("00:04:03, Ann Lee", "We ship on Friday."),
        ("01:04:06, Bo Ek", "Bo Ek: Good: on Friday."),
    ]


def test_voices_of_markup_are_speakers() -> None:
    """Notes, ids and tags are no words, and entities are characters."""
    document = parse_transcript(TEAMS)

    assert document.text == "Ann Lee: We ship & test on Friday.\n\nBo Ek: Why?"
    assert document.places == (DocumentPlace(0, "00:00:03, Ann Lee"), DocumentPlace(36, "00:00:05, Bo Ek"))


def test_rolling_captions_are_read_once() -> None:
    """A line that stays on the screen or grows is written at its first time only."""
    document = parse_transcript(ROLLING)

    assert document.text == "we ship on Friday at noon"
    assert say(document) == [("00:00:00", "we ship"), ("00:00:02", "on Friday"), ("00:00:04", "at noon")]


def test_words_that_are_said_twice_stay() -> None:
    """A repeated line is no rolling caption if the other cues repeat nothing."""
    words = "No No a b c d e".split()
    cues = "\n\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{word}" for n, word in enumerate(words))

    assert parse_transcript(cues).text == "No No a b c d e"


def test_subrip_and_subviewer_are_read() -> None:
    """A cue keeps its words after a blank line, another person begins a paragraph, and other prefixes are words."""
    document = parse_transcript(
        "\ufeff1\n00:00:01,000 --> 00:00:02,000\n- Note: go.\n- {\\an8}<i>Now?</i>\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\nHe\n\nstayed.\n3\n00:00:05,000 --> 00:00:06,000\n>> Yes.\n\n"
    )

    assert document.text == "Note: go.\n\nNow? He stayed.\n\nYes."
    assert parse_transcript("0:00:01.000,0:00:04.000\nWe ship.").places == (DocumentPlace(0, "00:00:01"),)


def test_long_speech_has_paragraphs() -> None:
    """A paragraph ends with a sentence after 300 characters, or with a cue after 500 without a full stop."""
    cue = "{n}\n00:{n:02}:00.000 --> 00:{n:02}:59.000\n{text}\n\n"
    sentences = "".join(cue.format(n=n, text=f"We ship {n:02} on Friday, test on Monday.") for n in range(20))
    words = "".join(cue.format(n=n, text=f"we ship {n:02} on friday and test on monday") for n in range(40))

    assert [len(part) for part in parse_transcript(sentences).text.split("\n\n")] == [303, 303, 151]
    assert max(len(part) for part in parse_transcript(words).text.split("\n\n")) < 540


def test_a_text_without_times_is_plain_text() -> None:
    """A file with the wrong suffix loses nothing."""
    assert parse_transcript("Minutes\n=======\n\nWe ship.").text == "# Minutes\n\nWe ship."


def test_a_transcript_without_words_is_unreadable() -> None:
    """Cues without words have a reason."""
    with pytest.raises(Unreadable, match="has no text"):
        parse_transcript("WEBVTT\n\n00:01.000 --> 00:02.000\n\n")


@pytest.mark.parametrize(
    "piece",
    ["00:00:01.000 --> 00:00:02.000\na: b\n\n", "<v ", "<", "{\\", "1\n", "00:00:01.000 --> 00:00:02.000\n- x\n", "a:"],
)
def test_time_grows_with_length(piece: str) -> None:
    """A text of one repeated piece is read in proportional time."""
    assert not TextFunction(parse_transcript).is_slow(piece)
