"""Names a command makes up."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.runs.errors import InvalidRequest
from tenure.runs.run_ids import check_corpus, check_run, make_corpus_name, make_run_id, slugify


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How does Raft elect a leader?", "how-does-raft-elect-a-leader"),
        ("Was heißt Größe?", "was-heisst-grosse"),
        ("\u4f60\u597d", "question"),
        ("a" * 60, "a" * 40),
        ("words that go on and on until the limit is passed", "words-that-go-on-and-on-until-the-limit"),
    ],
)
def test_slug_reads_like_the_text(text: str, expected: str) -> None:
    """A slug is ASCII words, cut between words; a text without any still has a name."""
    assert slugify(text) == expected


def test_run_ids_differ_for_the_same_question() -> None:
    """The same question may be asked twice."""
    first, second = make_run_id("Why?", "auto"), make_run_id("Why?", "auto")

    assert first != second
    assert first.startswith("research-why-")
    assert make_run_id("Why?", "code").startswith("code-why-")


def test_corpus_name_depends_on_the_set_of_paths() -> None:
    """The order of the paths does not matter, the paths do."""
    one, two = Path("/data/reports"), Path("/data/letters")

    assert make_corpus_name([one, two]) == make_corpus_name([two, one])
    assert make_corpus_name([one]) != make_corpus_name([Path("/other/reports")])
    assert make_corpus_name([one]).startswith("reports-")


@given(st.lists(st.text(min_size=1).map(lambda text: Path("/") / text.replace("\0", "")), min_size=1))
def test_made_up_corpus_names_are_valid(paths: list[Path]) -> None:
    """Whatever the folders are called, the name of their corpus is one."""
    name = make_corpus_name(paths)

    assert check_corpus(name) == name


@pytest.mark.parametrize("name", ["", "../up", "a b", "-a", "x" * 65, "a/b"])
def test_bad_corpus_names_are_refused(name: str) -> None:
    """A name that could be a path or an option is none."""
    with pytest.raises(InvalidRequest, match="is not a corpus name"):
        check_corpus(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a b",
        "a\tb",
        "a\u00a0b",
        "a\x1b[2Jb",
        "a\u202egnp.exe",
        "a\u2066b",
        "a\u200bb",
        "a\u3164b",
        "a\ufe0f",
        "a\ud800",
        "..",
        ".",
        "../up",
        "run/../other",
        "run/..",
        "run\\..\\other",
        "/etc/passwd",
        "run/",
        "run//ask",
        "x" * 201,
    ],
)
def test_bad_run_ids_are_refused(name: str) -> None:
    """An id with hidden characters, or with a path to another folder, is none; the error shows it."""
    with pytest.raises(InvalidRequest, match="is not a run id") as caught:
        check_run(name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["research-why-0f3a", "nightly/001", "r/ask", "größe-1", "a..b", ".hidden", "x" * 200])
def test_good_run_ids_are_accepted(name: str) -> None:
    """Parts of batches, letters of all scripts and dots within a name are allowed."""
    assert check_run(name) == name
