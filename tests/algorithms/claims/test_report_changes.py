"""What is news between two reports of a standing question, and what is only another choice of words."""

from tenure.algorithms.claims.report_changes import changes, quoted, repeated, statements
from tenure.contracts.base import RunId
from tenure.contracts.result.changes import Changes, Words
from tenure.contracts.result.result import Result, ResultCitation, ResultClaim, ResultSection, SourceEntry
from tenure.contracts.run.run import Usage

THEN, LATER, NOW = "2026-01-01T08:00:00+00:00", "2026-01-05T08:00:00+00:00", "2026-01-08T08:00:00+00:00"
RYE = "Bread is made of rye."
WHEAT = "Bread is made of wheat."
SALT = "Salt is needed."


def source(n: int, uri: str = "bread.md", accessed: str = THEN, id: str = "") -> SourceEntry:
    """Return a source of a report."""
    return SourceEntry(n=n, id=id or uri, uri=uri, title=uri, accessed=accessed)


def claim(text: str, *quotes: tuple[int, str]) -> ResultClaim:
    """Return a statement with the words it quotes, by the numbers of their sources."""
    citations = tuple(ResultCitation(source=n, start=0, end=len(quote), quote=quote) for n, quote in quotes)
    return ResultClaim(text=text, status="supported", citations=citations)


def report(*claims: ResultClaim, sources: tuple[SourceEntry, ...], id: str = "last", at: str = THEN) -> Result:
    """Return a report of one section."""
    return Result(
        id=RunId(id),
        mode="RESEARCH",
        question="How?",
        title="",
        abstract="",
        sections=(ResultSection(topic="Bread", markdown="", claims=claims),),
        sources=sources,
        usage=Usage(),
        changes=Changes(at=at) if at else None,
        status="done",
    )


def compared(last: Result, now: Result, gone: tuple[str, ...] = (), before: tuple[str, ...] = ()) -> Changes:
    """Compare two reports where some words of the last one are gone and some of the new one stood in copies."""
    stands = {words: words.quote not in gone for words in quoted(last, now)}
    repeats = {words: words.quote in before for words in repeated(last, now)}
    return changes(last, now, stands, repeats, NOW)


def texts(found: Changes) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    """Return what is new, what has changed and what is withdrawn, by the statements alone."""
    return (
        [one.text for one in found.new],
        [(one.before.text, one.now.text) for one in found.changed],
        [one.text for one in found.withdrawn],
    )


def test_the_same_report_brings_nothing() -> None:
    """Nothing is news where nothing was read since, and every statement still stands."""
    last = report(claim(RYE, (1, RYE)), claim(SALT, (1, SALT)), sources=(source(1),))
    found = compared(last, last)

    assert texts(found) == ([], [], [])
    assert (found.since, found.since_at, found.at, found.standing) == ("last", THEN, NOW, 2)


def test_another_choice_from_the_same_sources_is_no_news() -> None:
    """A sentence that the documents already had is not new, and one that is not repeated is not withdrawn."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    found = compared(last, report(claim(SALT, (1, SALT)), sources=(source(1),)))

    assert texts(found) == ([], [], [])


def test_words_of_a_source_read_since_are_new() -> None:
    """A statement counts as new where it rests on words that the last report could not have seen."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    sources = (source(1), source(2, "salt.md", LATER))
    found = compared(last, report(claim(RYE, (1, RYE)), claim(SALT, (1, RYE), (2, SALT)), sources=sources))

    assert texts(found) == ([SALT], [], [])
    assert found.new[0].words[1] == Words(uri="salt.md", title="salt.md", quote=SALT)


def test_words_that_are_gone_withdraw_what_rested_on_them() -> None:
    """A statement is withdrawn when all of its words are gone, not when some are, and not when it cites none."""
    both = claim("Bread needs both.", (1, RYE), (1, SALT))
    last = report(claim(RYE, (1, RYE)), both, claim("Uncited."), sources=(source(1),))
    found = compared(last, report(sources=()), gone=(RYE,))

    assert texts(found) == ([], [], [RYE])
    assert found.standing == 2


def test_a_statement_takes_the_place_of_one_that_is_gone() -> None:
    """What the changed source says now is set beside what it said, where both speak of the same."""
    last = report(claim(RYE, (1, RYE)), claim("Ovens are hot.", (1, "Ovens are hot.")), sources=(source(1),))
    now = report(claim(WHEAT, (1, WHEAT)), claim(SALT, (1, SALT)), sources=(source(1, accessed=LATER),))
    found = compared(last, now, gone=(RYE, "Ovens are hot."))

    assert texts(found) == ([SALT], [(RYE, WHEAT)], ["Ovens are hot."])


def test_what_is_said_again_with_other_words_behind_it_is_neither() -> None:
    """A statement that is repeated is not withdrawn, though the words it rested on are gone."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1),))
    now = report(claim(RYE, (1, "Rye makes bread.")), sources=(source(1, accessed=LATER),))

    assert texts(compared(last, now, gone=(RYE,))) == ([], [], [])


def test_a_page_that_was_only_stored_anew_is_no_news() -> None:
    """Words that stood in the last run's copy of a page are not new, though the page was fetched again."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1, "https://a", id="old"),))
    now = report(claim(SALT, (1, SALT)), claim(WHEAT, (1, WHEAT)), sources=(source(1, "https://a", LATER, id="new"),))

    assert texts(compared(last, now, before=(SALT,))) == ([WHEAT], [], [])
    assert [place.source for place in repeated(last, now).values()] == ["old", "old"]
    assert [place.source for place in quoted(last, now).values()] == ["new"]


def test_a_report_that_knows_no_time_is_as_old_as_its_newest_source() -> None:
    """A last report without a comparison of its own is dated by what it had read."""
    last = report(claim(RYE, (1, RYE)), sources=(source(1, accessed=LATER),), at="")
    found = compared(last, report(claim(SALT, (1, SALT)), sources=(source(1, accessed=LATER),)))

    assert texts(found) == ([], [], [])
    assert found.since_at == ""


def test_a_sentence_that_stands_twice_is_one_statement() -> None:
    """The sections of a report may repeat each other."""
    twice = report(claim(RYE, (1, RYE)), claim(RYE.upper(), (1, RYE)), sources=(source(1),))

    assert [one.text for one in statements(twice)] == [RYE]


def test_texts_without_words_are_alike_in_nothing() -> None:
    """Statements of marks alone do not take each other's place."""
    last = report(claim("…", (1, "…")), sources=(source(1),))
    found = compared(last, report(claim("!", (1, "!")), sources=(source(1, accessed=LATER),)), gone=("…",))

    assert found.changed == ()
